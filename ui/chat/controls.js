// Beside the message that is written: how much the model thinks about it, and what it may call; the panel has the same.

import { html } from "../parts/html.js";
import { Menu } from "../parts/menu.js";
import { Icon } from "../shell/icons.js";
import { toolsOf } from "../state/held.js";
import { effortsOf } from "../state/offered.js";
import { respondent } from "../state/respondent.js";
import { set, settings } from "../state/settings.js";

/** Nothing where the model has neither. */
export function Controls() {
  return html`<${Thinking} /><${Tools} />`;
}

function Thinking() {
  const { effort = "" } = settings.value;
  const efforts = effortsOf(respondent.value?.capabilities, effort);
  if (!efforts.length) return null;
  const label = efforts.find(([value]) => value === effort)?.[1] ?? effort;
  const items = efforts.map(([value, name]) => ({ label: name, isOne: true, isChecked: value === effort, act: () => set({ effort: value || undefined }) }));
  return html`<${Menu} id="composer-thinking" kind=${kindOf(effort !== "")} label=${`Thinking: ${label}`} items=${items}
    face=${html`<${Icon} name="thought" /><span class="words">${effort ? label : "Thinking"}</span>`} />`;
}

function Tools() {
  const { tools, ownTools = false } = settings.value;
  if (!respondent.value?.capabilities?.tools && !tools) return null;
  const label = `Tools ${tools === undefined ? "off" : "on"}`;
  const write = async () => {
    set({ tools: tools ?? "" });
    await (await import("../shell/commands.js")).toField("tools");
  };
  const items = [
    // What is left with neither is off.
    { label: "Agents, ask, date and time", isChecked: ownTools, act: () => set(ownTools ? { tools: tools || undefined, ownTools: undefined } : { tools: tools ?? "", ownTools: true }) },
    { label: "Your list…", about: listed(tools), act: write },
    { label: "Off", about: tools ? "forgets your list" : "", isDisabled: tools === undefined, isApart: true, act: () => set({ tools: undefined, toolChoice: undefined, ownTools: undefined }) },
  ];
  return html`<${Menu} id="composer-tools" kind=${kindOf(tools !== undefined)} label=${label} items=${items} face=${html`<${Icon} name="tool" /><span class="words">${label}</span>`} />`;
}

/** @param {boolean} isOn whether it says anything */
const kindOf = (isOn) => `control ${isOn ? "on" : ""}`;

/** How many functions it has, in words. @param {string} [tools] */
function listed(tools = "") {
  try {
    return String(toolsOf(tools).length || "none yet");
  } catch {
    return "not right yet";
  }
}
