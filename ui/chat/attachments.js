// The files beside a message: over the text while it is written, and in the turn once it is sent.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { attached, detach, isPicture, PASTED, problemWith, remove } from "../state/attachments.js";
import { open } from "../state/chats.js";

const PREVIEW_LENGTH = 1200;

/** @typedef {import("../state/attachments.js").KeptFile} KeptFile */

/** Those of the message that is being written. @param {{onPutBack: (text: string) => void}} properties */
export function Attached({ onPutBack }) {
  const problem = problemWith(attached.value);
  return html`<ul class="attached" aria-label="Attachments">
    ${attached.value.map((file) => html`<li key=${file.id} class=${isPicture(file) && problem ? "wrong" : ""} title=${isPicture(file) && problem ? problem : file.name}>
      <${isPicture(file) ? Picture : FileText} file=${file} onPutBack=${onPutBack} />
      <button type="button" class="icon-button" aria-label=${`Remove ${file.name}`} title="Remove" onClick=${() => remove(open.value.id, file)}><${Icon} name="close" /></button>
    </li>`)}
  </ul>`;
}

/** @param {{file: KeptFile}} properties */
function Picture({ file }) {
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(file.blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return html`${address && html`<img src=${address} alt=${file.name} width="40" height="40" />`}<span class="name">${file.name}</span><span class="about">${sizeOf(file.size)}</span>`;
}

/** @param {{file: KeptFile, onPutBack: (text: string) => void}} properties */
function FileText({ file, onPutBack }) {
  const [text, setText] = useState("");
  useEffect(() => {
    file.blob.text().then(setText);
  }, [file]);
  const putBack = () => {
    onPutBack(text);
    detach(file.id);
  };
  return html`<details><summary><span class="name">${file.name}</span> <span class="about">${sizeOf(file.size)}</span></summary><${Preview} text=${text} /></details>
    ${file.name === PASTED && html`<button type="button" class="link" onClick=${putBack}>Put back</button>`}`;
}

/** Those of a message that was sent. @param {{files: import("../state/attachments.js").Attachment[]}} properties */
export function Sent({ files }) {
  return html`<ul class="attached sent" aria-label="Attachments">
    ${files.map(({ name, size, text, url }, index) => html`<li key=${index} title=${name}>
      ${url
        ? html`<img src=${url} alt=${name} /><span class="reader">${name}</span>`
        : html`<details><summary><span class="name">${name}</span> <span class="about">${sizeOf(size)}</span></summary><${Preview} text=${text ?? ""} /></details>`}
    </li>`)}
  </ul>`;
}

/** @param {{text: string}} properties */
function Preview({ text }) {
  return html`<pre tabindex="0" role="region" aria-label="Preview" dir="auto">${text.slice(0, PREVIEW_LENGTH)}${text.length > PREVIEW_LENGTH ? " …" : ""}</pre>`;
}

/** @param {number} bytes */
function sizeOf(bytes) {
  return bytes < 1000 ? `${bytes} B` : bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
