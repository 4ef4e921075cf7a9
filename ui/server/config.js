// The configuration: as a form, as a file, or only what differs from the defaults; at its foot what the changes cost.

import { useEffect, useState } from "../vendor/hooks.js";
import { effect } from "../vendor/signals-core.js";
import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { changed, cost, differing, discard, applyAll, applyLive, edits, fields, file, groups, isApplying, load, outcome, rows, trouble } from "../state/config.js";
import { status } from "../state/server.js";
import { hasKey, isConnected, route } from "../state/session.js";
import { ConfigField } from "./config-field.js";
import { ConfigFile } from "./config-file.js";

// Changes that were not applied would be lost with the page, whatever it shows by then.
effect(() => {
  if (edits.value.size) addEventListener("beforeunload", ask);
  else removeEventListener("beforeunload", ask);
});

export function Config() {
  const [tab, setTab] = useState("form");
  const [wanted, setWanted] = useState("");
  const named = route.value.path[0] === "config" ? (route.value.path[1] ?? "") : "";
  const [group, setGroup] = useState(named.split(".")[0] || "model");
  useEffect(() => {
    // A server that came back, or that has the key now, may say otherwise.
    if (isConnected.value && !["", "away", "locked"].includes(status.value)) load();
  }, [isConnected.value, hasKey.value, ["", "away", "locked"].includes(status.value)]);
  useEffect(() => {
    if (!named) return;
    setTab("form");
    setWanted("");
    setGroup(named.split(".")[0]);
  }, [named, route.value]);
  const tabs = [
    { name: "form", label: "Form" },
    { name: "file", label: "As a file" },
    { name: "differing", label: `Only what differs (${differing.value.length})` },
  ];
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    const next = tabs[(tabs.findIndex(({ name }) => name === tab) + by + tabs.length) % tabs.length];
    setTab(next.name);
    document.getElementById(`config-${next.name}`)?.focus();
  };
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? rows.value.filter((field) => words.every((word) => `${field.key} ${field.description}`.toLowerCase().includes(word))) : null;
  return html`<section class="card config" aria-label="Configuration">
    <header>
      <h2>Configuration</h2>
      <span class="code quiet" title="The file that it is read from and kept in">${file.value ?? "no file in use"}</span>
      <label class="search"><${Icon} name="search" /><span class="reader">Find a field</span>
        <input type="search" id="find-field" placeholder=${`Find in ${fields.value.length} fields`} value=${wanted} onInput=${(/** @type {any} */ event) => (setWanted(event.target.value), setTab("form"))} />
      </label>
    </header>
    <div class="tabs" role="tablist" aria-label="Configuration" onKeyDown=${move}>
      ${tabs.map(
        ({ name, label }) => html`<button type="button" role="tab" key=${name} id=${`config-${name}`} aria-selected=${tab === name} aria-controls="config-body" tabindex=${tab === name ? 0 : -1} onClick=${() => setTab(name)}>${label}</button>`,
      )}
    </div>
    ${trouble.value && html`<p class="note bad" role="alert">The configuration cannot be had: ${trouble.value} <button type="button" class="link" onClick=${load}>Try again</button></p>`}
    <div class="config-body" role="tabpanel" id="config-body" aria-labelledby=${`config-${tab}`}>
      ${tab === "form" && !found && html`<${Groups} open=${group} onOpen=${setGroup} />`}
      ${tab === "form" && html`<${Rows} key=${found ? "found" : group} of=${found ?? rows.value.filter((field) => field.group === group)} named=${named} none="No field has that in its name or text." />`}
      ${tab === "file" && html`<${ConfigFile} />`}
      ${tab === "differing" && html`<${Rows} of=${differing.value} named=${named} none="Every field has its default." />`}
    </div>
    <${Foot} />
  </section>`;
}

/** @param {{open: string, onOpen: (name: string) => void}} properties */
function Groups({ open, onOpen }) {
  return html`<nav class="groups" aria-label="Groups of fields">
    ${groups.value.map(({ name, description }) => {
      const count = changed.value.filter((field) => field.group === name).length;
      return html`<button type="button" key=${name} title=${description} aria-current=${open === name ? "true" : undefined} onClick=${() => onOpen(name)}>
        ${name}${count > 0 && html`<b aria-label=${`${count} changed`}>${count}</b>`}
      </button>`;
    })}
  </nav>`;
}

/** @param {{of: import("../api/config.js").Field[], named: string, none: string}} properties */
function Rows({ of: shown, named, none }) {
  return html`<div class="rows scroll" tabindex="0" role="region" aria-label="Fields">
    ${shown.map((field) => html`<${ConfigField} key=${field.key} field=${field} isNamed=${field.key === named} />`)}
    ${!shown.length && fields.value.length > 0 && html`<p class="quiet none">${none}</p>`}
  </div>`;
}

function Foot() {
  const count = changed.value.length;
  const { live, reload, restart, wrong } = cost.value;
  const isBusy = isApplying.value;
  return html`<footer class="foot">
    <p role="status" class=${outcome.value.isBad ? "bad" : ""}>${isBusy ? "Applying…" : outcome.value.text || (count ? html`<b>${count} ${count === 1 ? "change" : "changes"}.</b> ${priceOf(cost.value)}` : "No changes.")}</p>
    <button type="button" class="link" id="discard" disabled=${!count || isBusy} onClick=${() => discard()}>Discard</button>
    ${reload > 0 && html`<button type="button" class="button" id="apply-live" disabled=${!(live + restart) || isBusy} onClick=${applyLive}>${live + restart === 1 ? "Apply the live one" : "Apply the live ones"}</button>`}
    <button type="button" class="button main" id="apply" disabled=${!count || wrong > 0 || isBusy} onClick=${applyAll}>${reload ? "Apply and reload" : "Apply"}</button>
  </footer>`;
}

/** @param {{live: number, reload: number, restart: number, wrong: number, seconds?: number}} cost */
function priceOf({ reload, restart, wrong, seconds }) {
  const words = [];
  if (wrong) words.push(wrong === 1 ? "One is not taken as it stands." : `${wrong} are not taken as they stand.`);
  if (reload) words.push(`${reload === 1 ? "One reloads" : `${reload} reload`} the model${seconds ? `, about ${Math.max(1, Math.round(seconds))} s` : ""}.`);
  if (restart) words.push(`${restart === 1 ? "One waits" : `${restart} wait`} for the next start.`);
  return words.join(" ") || "In effect at once.";
}

/** @param {BeforeUnloadEvent} event */
function ask(event) {
  event.preventDefault();
}
