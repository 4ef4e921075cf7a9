// The configuration as the server would write it into a file; lines of changed fields are marked.

import { useEffect } from "../vendor/hooks.js";
import { copyButton } from "../parts/copy.js";
import { html } from "../parts/html.js";
import { asFile, edits, loadFile } from "../state/config.js";

export function ConfigFile() {
  useEffect(() => {
    loadFile();
  }, []);
  let group = "";
  const lines = asFile.value.replace(/\n$/, "").split("\n");
  return html`<div class="file">
    <div class="tools" ref=${addCopy}></div>
    <pre class="scroll" tabindex="0" role="region" aria-label="The configuration as a file">${lines.map((line, at) => {
      group = /^\[([\w.-]+)\]\s*$/.exec(line)?.[1] ?? group;
      const name = /^#?\s*([\w-]+)\s*=/.exec(line)?.[1];
      const edit = name && edits.value.get(`${group}.${name}`);
      return html`<span key=${at} class=${`line ${edit ? "changed" : ""} ${line.startsWith("#") ? "quiet" : ""}`}>${line || " "}${edit && html` <b>→ ${edit.text || "unset"}</b>`}</span>`;
    })}</pre>
  </div>`;
}

/** @param {HTMLElement | null} place */
function addCopy(place) {
  if (place && !place.firstChild) place.append(copyButton(() => asFile.value, "Copy the file"));
}
