// The way of a message out: at once where it can be answered, else as soon as it can.

import * as stored from "../store/turns.js";
import { effect } from "../vendor/signals-core.js";
import { begin } from "./adding.js";
import { here, open, placeOf } from "./chats.js";
import { only } from "./respondent.js";
import { runIn, running } from "./running.js";
import { announce, isConnected, keeping, lostAt } from "./session.js";
import { answer, ask, canAsk, requestOf, withFiles } from "./talk.js";
import { recordOf, Turn } from "./turn.js";
import { enqueue, held, hold, OLD_MS, release, remember, settle, waiting } from "./waiting.js";

/** @typedef {import("./chats.js").Place} Place */

/** Conversations whose next message goes out whatever became of the answer before it. @type {Set<string>} */
const urged = new Set();
/** Those whose message is on its way out. @type {Set<string>} */
const leaving = new Set();
/** Those of them in which something ended meanwhile, a short answer even before its question was kept. @type {Set<string>} */
const recalled = new Set();

// --- Lifecycle

/** From now on what waits is sent as soon as it can be. */
export function start() {
  let wasLost = lostAt.value !== null;
  effect(() => {
    const chats = new Set(waiting.value.map((record) => record.conversation));
    const isBack = wasLost && isConnected.value;
    wasLost = !isConnected.value;
    // Each may have begun or ended what they wait for.
    only.value;
    const isFree = (/** @type {string} */ chat) => running.value && !runIn(chat) && !held.value.has(chat);
    const next = canAsk() ? [...chats].filter(isFree) : [];
    // Out of the effect, that it follows what is read above and nothing more.
    queueMicrotask(() => {
      if (isBack) holdOld();
      next.forEach(flush);
    });
  });
  for (const chat of remember()) placeOf(chat).then(() => settle(chat));
}

// --- Actions

/**
 * @param {string} text @param {boolean} [isNow] what answers is stopped, and this goes before what waits already
 * @param {import("../store/turns.js").Attachment[]} [attachments]
 * @param {Place} [from] where it was said: another chat may be open by now
 */
export async function send(text, isNow = false, attachments = [], from = here()) {
  const conversation = from.conversation.id;
  // One that nothing was said in is kept nowhere.
  const place = (await placeOf(conversation)) ?? from;
  const run = runIn(conversation);
  if (!run && canAsk()) return ask(text, place.head, attachments, place);
  const record = withFiles(recordOf("user", conversation, null, text, "WAITING"), attachments);
  // Who says it where nothing answers has seen how the answer before it ended.
  await enqueue(run ? record : { ...record, isUrged: true }, isNow);
  // A chat with nothing in it but what waits is in the list too.
  if (!place.conversation.updated) await begin(text || attachments[0].name, place.conversation);
  if (!isNow) return;
  urged.add(conversation);
  run?.stop();
}

/** Sends what waits in the open chat, whatever held it. */
export function urge() {
  urged.add(open.value.id);
  release(open.value.id);
  if (canAsk() && !runIn(open.value.id)) flush(open.value.id);
}

// --- Internal

/** Sends the first message that waits there, if the answer before it is one to go on from. @param {string} chat */
async function flush(chat) {
  if (leaving.has(chat)) return void recalled.add(chat);
  leaving.add(chat);
  try {
    const place = await placeOf(chat);
    const last = place?.head ? place.turns.get(place.head) : undefined;
    const record = waiting.value.find((each) => each.conversation === chat);
    const isHeld = !canAsk(place?.conversation.settings.model) || runIn(chat) || held.value.has(chat);
    // Who says more where nothing answers wants what was said before it to go too.
    const isUrged = urged.has(chat) || waiting.value.some((each) => each.conversation === chat && each.isUrged);
    // Tasks that were stopped, or cut, can go on only where nothing was said after them.
    const isCutShort = last && (last.record.state !== "DONE" || last.record.tools.some(({ list, result }) => list && result === undefined));
    if (!place || !record || isHeld || (isCutShort && !isUrged)) return;
    urged.delete(chat);
    const { isUrged: _, ...said } = record;
    const question = new Turn({ ...said, parent: place.head, created: Date.now() });
    // Before it is claimed: a schema that is no JSON leaves it waiting.
    const request = requestOf(question, place);
    if (!(await isOurs(record.id, place.head))) return;
    question.advance("send");
    waiting.value = waiting.value.filter((each) => each.id !== record.id);
    await answer([question], question.id, request, place);
  } catch (error) {
    hold(chat);
    if (!(error instanceof SyntaxError)) throw error;
    // What the panel holds an answer to is written by hand.
    announce(error.message, true);
  } finally {
    leaving.delete(chat);
    if (recalled.delete(chat)) queueMicrotask(() => flush(chat));
  }
}

/** Whether that message still waits, and this tab is the one to send it. @param {string} id @param {string | null} parent */
async function isOurs(id, parent) {
  let isWaiting = true;
  await keeping(() =>
    stored.amend(id, (kept) => {
      isWaiting = kept.state === "WAITING";
      return isWaiting ? { ...kept, state: "DONE", parent } : kept;
    }),
  );
  if (!isWaiting) waiting.value = waiting.value.filter((each) => each.id !== id);
  return isWaiting;
}

/** After a while without a server a person may have changed their mind. */
function holdOld() {
  const before = Date.now() - OLD_MS;
  for (const record of waiting.value) if (record.created < before) hold(record.conversation);
}
