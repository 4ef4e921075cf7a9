// The request as it was sent and the answer as it came; the key is never in it.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { copy } from "../parts/copy.js";
import { Long } from "../parts/long.js";
import { isTooDeep, Tree } from "../parts/tree.js";
import { receivedOf, sentOf } from "../state/exchange.js";

/** @param {{turn: import("../state/turn.js").Turn | null}} properties */
export function Raw({ turn }) {
  const [said, setSaid] = useState("");
  const [isText, setText] = useState(false);
  if (!turn?.record.request) return html`<section><p class="about">There is no request yet.</p></section>`;
  turn.state.value;
  const { request } = turn.record;
  const { to, body } = sentOf(turn.record);
  const answer = receivedOf(turn.record);
  const take = async (/** @type {string} */ name, /** @type {string} */ source) => setSaid((await copy(source)) ? `Copied as ${name}` : "No access to the clipboard");
  return html`<section><h2>Request <button type="button" class="link" id="raw-text" aria-pressed=${isText} onClick=${() => setText(!isText)}>As text</button></h2>
      <p class="about">${to}</p>
      <div class="actions left">
        <button type="button" class="button" onClick=${() => take("curl", asCurl(request))}>curl</button>
        <button type="button" class="button" onClick=${() => take("Python", asPython(request))}>Python</button>
        <button type="button" class="button" onClick=${() => take("JavaScript", asJavaScript(request))}>JavaScript</button>
      </div>
      <p class="about" role="status">${said}</p>
      <${Json} value=${body} isText=${isText} /></section>
    <section><h2>Answer <button type="button" class="link" onClick=${() => take("JSON", JSON.stringify(answer, null, 2))}>Copy</button></h2>
      <${Json} value=${answer} isText=${isText} /></section>`;
}

/** @param {{value: unknown, isText: boolean}} properties */
function Json({ value, isText }) {
  return isText || isTooDeep(value) ? html`<pre tabindex="0"><${Long} text=${JSON.stringify(value, null, 2)} /></pre>` : html`<${Tree} value=${value} />`;
}

/** @param {any} request */
export function asCurl(request) {
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  return `curl ${location.origin}/v1/chat/completions \\\n  -H "Authorization: Bearer $IGNIS_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'\n`;
}

/** @param {any} request */
export function asPython(request) {
  const body = JSON.stringify(JSON.stringify(request, null, 2));
  return `import json\nimport os\nimport urllib.request\n\nrequest = urllib.request.Request(\n    "${location.origin}/v1/chat/completions",\n    ${body}.encode(),\n    {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('IGNIS_API_KEY', '')}"},\n)\nwith urllib.request.urlopen(request) as answer:\n    print(json.load(answer)["choices"][0]["message"]["content"])\n`;
}

/** @param {any} request */
export function asJavaScript(request) {
  const call = `await fetch("${location.origin}/v1/chat/completions", {\n  method: "POST",\n  headers: { "Content-Type": "application/json", Authorization: \`Bearer \${process.env.IGNIS_API_KEY ?? ""}\` },\n  body: JSON.stringify(request),\n})`;
  return `const request = ${JSON.stringify(request, null, 2)};\nconst answer = ${call};\nconsole.log((await answer.json()).choices[0].message.content);\n`;
}
