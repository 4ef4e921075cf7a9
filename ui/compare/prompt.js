// The prompt of all lanes, how many tokens it is, and how often the server had to read it.

import { countTokens } from "../api/tokenize.js";
import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { isSending } from "../parts/sending.js";
import { NoModel } from "../shell/no-model.js";
import { open, shelf } from "../state/compare.js";
import { hasNoModel } from "../state/server.js";

const PAUSE_MS = 250;

/**
 * @param {{problem: string, onRun: () => void}} properties problem: why it is not asked
 */
export function Prompt({ problem, onRun }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const series = open.value;
  const text = series.prompt.value;
  const count = useCount(text);
  useEffect(() => {
    if (!area.current) return;
    area.current.style.height = "auto";
    area.current.style.height = `${area.current.scrollHeight}px`;
  }, [text]);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (!isSending(event)) return;
    event.preventDefault();
    onRun();
  };
  const numBefore = series.history.value.length;
  return html`<div class="shared-prompt">
    ${numBefore > 0 && html`<p class="about before">After ${numBefore} earlier ${numBefore === 1 ? "message" : "messages"} of a chat</p>`}
    ${series.after.length > 0 && html`<p class="about before">Followed by what was called, and what came of it</p>`}
    ${series.pictures.length > 0 && html`<ul class="attached sent before" aria-label="Pictures of the prompt">${series.pictures.map(({ name, url }) => html`<li title=${name}><img src=${url} alt=${name} /></li>`)}</ul>`}
    <label class="reader" for="prompt">Prompt of all lanes</label>
    <textarea id="prompt" ref=${area} rows="1" placeholder="One prompt for all lanes" autocomplete="off" value=${text}
      onInput=${(/** @type {any} */ event) => shelf.type(event.target.value)} onKeyDown=${press}></textarea>
    <p class="counts" id="prompt-counts"><span>${count === null ? "" : `${count.toLocaleString("en")} ${count === 1 ? "token" : "tokens"}`}</span><${Shared} /></p>
    ${hasNoModel.value ? html`<${NoModel} />` : problem && html`<p class="problem" role="alert">${problem}</p>`}
  </div>`;
}

function Shared() {
  const lanes = open.value.lanes.value;
  for (const lane of lanes) lane.turn.value?.state.value;
  const usages = lanes.flatMap((lane) => lane.turn.value?.record.usage ?? []);
  if (usages.length < 2) return html`<span>shared by all lanes</span>`;
  const total = usages.reduce((sum, usage) => sum + usage.prompt_tokens, 0);
  const cached = usages.reduce((sum, usage) => sum + (usage.prompt_tokens_details?.cached_tokens ?? 0), 0);
  const words = `${cached.toLocaleString("en")} of ${total.toLocaleString("en")}`;
  return html`<span title="Prompt tokens of all lanes together, template and settings included; what came from the cache was not read again">${words} from the cache</span>`;
}

/** Tokens of that text once typing pauses; null while that is not known. @param {string} text */
function useCount(text) {
  const [count, setCount] = useState(/** @type {number | null} */ (null));
  useEffect(() => {
    if (!text) return setCount(0);
    const controller = new AbortController();
    const timer = setTimeout(() => countTokens(text, controller.signal).then(setCount, () => setCount(null)), PAUSE_MS);
    return () => (clearTimeout(timer), controller.abort());
  }, [text]);
  return count;
}
