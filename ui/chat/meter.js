// How much of the context the chat and the draft fill, and how fast the running answer comes.

import { countTokens } from "../api/tokenize.js";
import { useEffect, useState } from "../vendor/hooks.js";
import { count as words } from "../parts/format.js";
import { html } from "../parts/html.js";
import { useTicks } from "../parts/ticks.js";
import { attached, isPicture, read } from "../state/attachments.js";
import { contentOf } from "../state/content.js";
import { filling, uncounted } from "../state/filling.js";
import { isCounting, respondent } from "../state/respondent.js";
import { excess, isBeside, isConnected, panelTab } from "../state/session.js";
import { requestFor, settings } from "../state/settings.js";
import { path } from "../state/tree.js";

const PAUSE_MS = 250;
/** A longer draft is counted after a longer pause: 500 kB keep a core of the server busy for a third of a second. */
const CHARACTERS_A_MS = 500;
const CHARACTERS_A_TOKEN = 4;
/** From this share of the context on the whole of it is counted and not added up. */
const NEARLY_FULL = 0.9;

/** @param {{draft: string}} properties */
export function Meter({ draft }) {
  const { prompt, answer, rate, isRough } = useFilling();
  const room = respondent.value?.max_model_len;
  const before = prompt + answer;
  const files = attached.value;
  const isWritten = draft !== "" || files.length > 0;
  const { count, isExact } = useCount(draft, files, before, room ?? 0);
  const used = before + count;
  const share = room ? Math.min(100, (100 * used) / room) : 0;
  useEffect(() => {
    if (isWritten && count && room && used >= room) excess.value = `This makes ${isExact ? "" : "about "}${words(used)} tokens, and the context has ${words(room)}: it will be refused.`;
    return () => void (excess.value = "");
  }, [isWritten, count, room, used]);
  if (!room) return html`<span class="meter"></span>`;
  return html`<span class=${`meter ${share > 90 ? "full" : ""}`} title="Tokens of this chat and the draft">
    <span class="pace" aria-hidden="true">${rate && html`<span class="rate">${rate.toFixed(0)} tok/s</span>`}</span>
    <meter class="reader" min="0" max=${room} value=${used}>${used} of ${room}</meter>
    <span class="track" aria-hidden="true"><span style=${{ width: `${share}%` }}></span></span>
    <span class="count" aria-hidden="true" style=${{ "--figures": words(room).length }}>${(isRough || count) && !isExact ? "≈ " : ""}${words(used)}<span class="wide"> of ${words(room)}</span></span>
  </span>`;
}

/** As `filling`, from beat to beat while something comes. */
export function useFilling() {
  const isRunning = path.value.some((turn) => turn.isRunning);
  useTicks(isRunning);
  return filling();
}

/** Whether a person looks at what fills the context: then all of it is counted, and nothing added up. Pictures are too large to be sent for that. */
function isWatched() {
  const hasPicture = (/** @type {import("../state/turn.js").Turn} */ { record }) => record.attachments?.some(({ url }) => url);
  return isBeside("panel") && panelTab.value === "settings" && !path.value.some((turn) => turn.isRunning || hasPicture(turn));
}

/**
 * What the draft and its files add, and what was said since the last count, some time after they last changed; near the end of the context, and
 * where that is looked at, as the server has it: what was thought is no part of the next request.
 * @param {string} draft @param {import("../state/attachments.js").KeptFile[]} files @param {number} before @param {number} room
 */
export function useCount(draft, files, before, room) {
  const [found, setFound] = useState({ count: 0, isExact: false, before });
  const said = uncounted();
  const ids = said.map(({ id }) => id).join();
  // The server has no exact count in the words of another model.
  const isOwn = isCounting.value;
  const whole = isOwn && isWatched() && path.value.length ? path.value : null;
  const hasDraft = draft !== "" || files.length > 0;
  useEffect(() => {
    if (!hasDraft && !said.length && !whole) return setFound({ count: 0, isExact: false, before });
    const controller = new AbortController();
    const ask = async () => {
      const record = /** @type {any} */ ({ id: "", role: "user", text: draft, tools: [], attachments: await read(files.filter((file) => !isPicture(file))) });
      const countAll = async () => {
        const request = requestFor(/** @type {any} */ (hasDraft ? [...path.value, { record }] : path.value), 0);
        setFound({ count: (await countTokens(request, controller.signal)) - before, isExact: true, before });
        return true;
      };
      // What cannot be asked as it stands is added up.
      if (whole && (await countAll().catch(() => controller.signal.aborted))) return;
      const texts = [...said.map((turn) => turn.record), record].map(({ text, attachments }) => contentOf({ ...record, text, attachments: attachments?.filter((/** @type {any} */ file) => !file.url) }));
      const count = await countTokens(texts.join("\n\n"), controller.signal);
      setFound({ count, isExact: false, before });
      // What is asked again as it stands was refused already, or never could be: the server need not be asked of it.
      if (isOwn && hasDraft && before + count >= NEARLY_FULL * room) await countAll();
    };
    // A server that does not say it now says it at the next key, or when it is back.
    const timer = setTimeout(() => ask().catch(() => {}), PAUSE_MS + (draft.length + (whole ? CHARACTERS_A_TOKEN * before : 0)) / CHARACTERS_A_MS);
    return () => (clearTimeout(timer), controller.abort());
  }, [draft, files, ids, before, room, isOwn, isConnected.value, whole, whole && settings.value]);
  // What is exact is so for that path alone.
  return found.isExact && found.before !== before ? { count: 0, isExact: false } : found;
}
