// What the palette offers: actions, views, chats, models, the fields of a request and of the configuration.

import { CONTROL } from "../parts/sending.js";
import { go, openReference } from "../router.js";
import { actions } from "../state/actions.js";
import { list, open, pin } from "../state/chats.js";
import { fields as configFields } from "../state/config.js";
import { presets, take } from "../state/presets.js";
import { pinModel, pinnedModel } from "../state/respondent.js";
import { titles } from "../state/search.js";
import { change, fields, loaded, models, reload, unload } from "../state/server.js";
import { dialog, hasKey, isKeyWanted, look, panelTab, route, setLook, showBeside, TEXT, useKey } from "../state/session.js";
import { exportAll } from "../state/transfer.js";
import { chooseChats } from "./choose-chats.js";
import { focusOn, present, searchChats, startNew } from "./keys.js";

/** @typedef {import("../state/actions.js").Action} Action */
/** @typedef {{name: string, items: Action[]}} Group */

const STEP_TEXT = 5;
/** Fields of a request that the panel shows otherwise than as a box of their own. */
const PLACES = new Map([
  ["messages", "#prompt"],
  ["response_format", "[name=format]:checked"], ["guided_json", "[name=format]:checked"], ["guided_regex", "[name=format]:checked"],
  ["guided_grammar", "[name=format]:checked"], ["json_schema", "[name=format]:checked"], ["grammar", "[name=format]:checked"],
  ["structured_outputs", "[name=format]:checked"], ["guided_choice", "[name=format]:checked"],
  ["reasoning_effort", "[name=effort]:checked"], ["enable_thinking", "[name=effort]:checked"], ["max_tokens", "#set-max_completion_tokens"],
  ["tools", "#set-tools-on"], ["tool_choice", "#set-tools-on"],
  ["model", ".chip > button"], ["logprobs", "#logprobs"], ["top_logprobs", "#logprobs"],
]);
/** Of those, what stands in the tab of the turn. */
const TURN_TAB = new Set(["#logprobs"]);

/** @param {import("./frame.js").Place[]} views @returns {Group[]} */
export function groups(views) {
  return [
    { name: "Actions", items: [...actions.value, ...shown(), ...own()] },
    { name: "Views", items: views.map(({ name, label }, at) => ({ label, keys: `Alt ${at + 1}`, act: () => go(name) })) },
    { name: "Chats", items: (titles.value.length ? titles : list).value.map(({ id, title, preview }) => ({ label: title, words: preview, act: () => go("chat", id) })) },
    { name: "Models", items: models.value.map(modelItem) },
    { name: "Fields of a request", items: [...fields.value].map(fieldItem) },
    { name: "Configuration", items: configFields.value.map(({ key, description }) => ({ label: key, about: description, act: () => go("server", "config", key) })) },
  ];
}

/** Where it is set; what the page has no place for is explained in the reference. @param {string} name */
export async function toField(name) {
  const selector = PLACES.get(name) ?? `#set-${name}`;
  await inPanel(TURN_TAB.has(selector) ? "turn" : "settings");
  if (document.querySelector(selector)) await focusOn(selector);
  else openReference();
}

// --- Internal

/** What the bar of the view has buttons for. @returns {Action[]} */
function shown() {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll("#view .bar > button:not(:disabled)")]);
  return buttons.map((button) => ({ label: button.ariaLabel ?? wordsOf(button), about: "in this view", act: () => button.click() }));
}

/** What is written on a button, without the number that stands beside it. @param {HTMLElement} button */
function wordsOf(button) {
  const texts = [...button.childNodes].filter((node) => node instanceof Text).map((node) => node.textContent);
  return texts.join("").trim() || (button.textContent?.trim() ?? "");
}

/** @returns {Action[]} */
function own() {
  const { textSize, hasLetters } = look.value;
  return [
    { label: "New chat", keys: `${CONTROL} Shift O`, act: startNew },
    { label: "Search all chats", keys: `${CONTROL} Shift F`, act: searchChats },
    { label: "Settings of this chat", keys: `${CONTROL} .`, act: () => inPanel("settings").then(() => focusOn("#system")) },
    ...(open.value.updated ? [{ label: open.value.pinned ? "Unpin this chat" : "Pin this chat", about: open.value.title, act: () => pin(open.value) }] : []),
    { label: "Keys", keys: "?", words: "shortcuts help", act: () => (dialog.value = "keys") },
    { label: "Theme: light", act: () => setLook({ theme: "light" }) },
    { label: "Theme: dark", act: () => setLook({ theme: "dark" }) },
    { label: "Theme: the system’s", act: () => setLook({ theme: "auto" }) },
    { label: "Density: comfortable", act: () => setLook({ density: "comfortable" }) },
    { label: "Density: compact", act: () => setLook({ density: "compact" }) },
    { label: "Text: larger", about: `${textSize} %`, act: () => setLook({ textSize: Math.min(TEXT.most, textSize + STEP_TEXT) }) },
    { label: "Text: smaller", about: `${textSize} %`, act: () => setLook({ textSize: Math.max(TEXT.least, textSize - STEP_TEXT) }) },
    { label: `Single letters: ${hasLetters ? "off" : "on"}`, words: "keys", act: () => setLook({ hasLetters: !hasLetters }) },
    ...presets.value.map(({ id, name }) => ({ label: `Preset: ${name}`, about: "for the open chat", act: () => take(id) })),
    { label: "Export all chats as JSON", act: exportAll },
    { label: "Import chats…", act: chooseChats },
    ...(list.value.length ? [{ label: "Delete all chats…", words: "clear remove", act: () => (dialog.value = "clear") }] : []),
    ...(loaded.value ? [{ label: "Unload the model", act: unload }] : []),
    ...(models.value.length ? [{ label: loaded.value ? "Reload the model" : "Load the model", act: reload }] : []),
    ...(pinnedModel.value ? [{ label: "Unpin the model of this chat", about: pinnedModel.value, act: () => pinModel("") }] : []),
    ...(loaded.value && !pinnedModel.value ? [{ label: "Pin the model to this chat", about: loaded.value.id, act: () => pinModel(loaded.value?.id ?? "") }] : []),
    { label: "Enter the API key", act: () => (isKeyWanted.value = true) },
    ...(hasKey.value ? [{ label: "Forget the API key", act: () => useKey("") }] : []),
    { label: "API reference", act: openReference },
  ];
}

/** @param {import("../api/models.js").Model} model @returns {Action} */
function modelItem({ id, loaded: isLoaded }) {
  return { label: id, about: isLoaded ? "loaded" : "switch to it", act: () => (isLoaded ? undefined : change(id)) };
}

/** @param {[string, import("../api/openapi.js").FieldRange]} field @returns {Action} */
function fieldItem([name, { description }]) {
  return { label: name, about: description, words: name.replaceAll("_", " "), act: () => toField(name) };
}

/** Opens that tab of the panel beside the chat. @param {string} tab */
async function inPanel(tab) {
  if (route.value.view !== "chat") go("chat");
  panelTab.value = tab;
  showBeside("panel", true);
  await present(tab === "turn" ? "#logprobs" : "#preset");
}
