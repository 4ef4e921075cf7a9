// What a person does with a chat: send, stop, answer again, edit, go on; and the sending of what waits.

import { effect } from "../vendor/signals-core.js";
import { tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { add, addBeside, begin, here, open, placeOf, save } from "./chats.js";
import { isWhole } from "./content.js";
import { measure } from "./filling.js";
import { newId, newSeed } from "./ids.js";
import { Run } from "./run.js";
import { runIn, running } from "./running.js";
import { hasNoModel } from "./server.js";
import { announce, isConnected, keeping, lostAt } from "./session.js";
import { requestFor } from "./settings.js";
import { below, pathTo, turns } from "./tree.js";
import { timesFromNow, Turn } from "./turn.js";
import { enqueue, held, hold, OLD_MS, release, remember, settle, waiting } from "./waiting.js";

/** @typedef {import("./chats.js").Place} Place */

/** By how much a limit that was reached is raised. */
const RAISE = 2;

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

/** The same question otherwise: a sibling, and an answer to it. @param {Turn} turn @param {string} text */
export function resend(turn, text) {
  const asked = ask(text, turn.record.parent, turn.record.attachments);
  stopBelow(turn);
  return asked;
}

/** Another answer beside this one. @param {Turn} turn @param {number} [seed] the same one gives the same answer */
export function again(turn, seed = newSeed()) {
  const before = pathTo(turns.value, turn.record.parent);
  const isSame = turn.record.seed === seed && turn.record.request;
  // Another seed than the one that is set, or it would be the same answer.
  const request = isSame ? turn.record.request : { ...requestFor(before, seed), seed };
  stopBelow(turn);
  return answer([], turn.record.parent, request, here(), isSame ? turn.id : undefined);
}

/** What a tool came to. With the last result of a turn the model goes on. @param {Turn} turn @param {number} index @param {string} result */
export async function giveResult({ id, record: { conversation } }, index, result) {
  // Meanwhile it may have been deleted, or read anew.
  const turn = (await placeOf(conversation))?.turns.get(id);
  if (!turn) return;
  turn.become({ tools: turn.record.tools.map((call, at) => (at === index ? { ...call, result } : call)) });
  turn.results.value += 1;
  const isLast = turn.record.tools.every((call) => call.result !== undefined || !isWhole(call));
  await save(turn);
  tell({ kind: "turns", chat: null, records: [turn.record] });
  if (isLast) await carryOn(turn);
}

/** The model goes on from the results of its calls. @param {Turn} turn */
export async function carryOn({ id, record: { conversation } }) {
  const place = await placeOf(conversation);
  if (place) await answer([], id, requestFor(pathTo(place.turns, id), newSeed(), place.conversation.settings), place);
}

/** What the model should have said: a sibling that is history from here on. @param {Turn} turn @param {string} text */
export function correct(turn, text) {
  const { conversation, parent, model } = turn.record;
  return addBeside(new Turn({ ...recordOf("assistant", conversation, parent, text, "DONE"), model, isEdited: true }));
}

/** Goes on with an answer that was cut: the same request and seed, so the same text. @param {Turn} turn */
export async function resume(turn) {
  turn.advance("resume");
  Object.assign(turn.record, { failure: null, finish: null, usage: null, timings: null, tools: [], logprobs: undefined });
  turn.record.times = timesFromNow();
  const ended = launch(turn);
  await save(turn);
  await ended;
}

/**
 * Goes on with an answer that reached its limit: the same request with a higher one. Where that is refused, the answer
 * stays as it was, and the reason with it.
 * @param {Turn} turn @param {number} [room] of the context
 */
export async function goOn(turn, room = Infinity) {
  const before = { ...turn.record };
  const { request, usage } = before;
  const limit = (usage?.completion_tokens ?? request.max_completion_tokens) * RAISE;
  turn.record.request = { ...request, max_completion_tokens: Math.min(limit, room - (usage?.prompt_tokens ?? 0)) };
  await resume(turn);
  const { state, failure, times } = turn.record;
  if (state !== "FAILED" || times.first !== null) return;
  turn.become({ ...before, failure });
  await save(turn);
  tell({ kind: "turns", chat: null, records: [turn.record] });
}

// --- Internal

/** What answers there goes out of sight with that turn. @param {Turn} turn */
function stopBelow(turn) {
  for (const { id } of below(turns.value, turn.id)) running.value.get(id)?.stop();
}

/** Whether there is a server, and something on it that can answer. */
function canAsk() {
  return isConnected.value && !hasNoModel.value;
}

/** @param {string} text @param {string | null} parent @param {import("../store/turns.js").Attachment[]} [attachments] @param {Place} [place] */
function ask(text, parent, attachments = [], place = here()) {
  const question = new Turn(withFiles(recordOf("user", place.conversation.id, parent, text, "DONE"), attachments));
  navigator.storage?.persist?.();
  return answer([question], question.id, requestOf(question, place), place);
}

/** @param {Turn} question @param {Place} place */
function requestOf(question, { turns, conversation }) {
  return requestFor([...pathTo(turns, question.record.parent), question], newSeed(), conversation.settings);
}

/**
 * @param {Turn[]} before @param {string | null} parent @param {any} request @param {Place} place
 * @param {string} [sameAs] the turn whose request it is
 */
async function answer(before, parent, request, place, sameAs) {
  const record = recordOf("assistant", place.conversation.id, parent, "", "SENT");
  const turn = new Turn({ ...record, request, seed: request.seed, sameAs });
  turn.record.created += 1;
  // It runs before another tab is told of it, so that it is claimed when that asks.
  launch(turn);
  await add([...before, turn], place.conversation);
}

/** Returns once it has ended; what it calls of the page's own tools is then done. @param {Turn} turn */
async function launch(turn) {
  measure(turn);
  const run = new Run(turn, fork);
  await run.start();
  if (run.turn.record.tools.length) (await import("./own-tools.js")).doAll(run.turn);
}

/** A sibling that goes on where the turn has something else. @param {Turn} turn @param {string} text @param {string} reasoning */
function fork(turn, text, reasoning) {
  const { request, seed, model, parent, conversation, times } = turn.record;
  const other = { ...recordOf("assistant", conversation, parent, text, "SENT"), reasoning, request, seed, model, times: { ...times } };
  const sibling = new Turn(other);
  addBeside(sibling);
  return sibling;
}

/** Sends the first message that waits there, if the answer before it is one to go on from. @param {string} chat */
async function flush(chat) {
  if (leaving.has(chat)) return void recalled.add(chat);
  leaving.add(chat);
  try {
    const place = await placeOf(chat);
    const last = place?.head ? place.turns.get(place.head) : undefined;
    const record = waiting.value.find((each) => each.conversation === chat);
    const isHeld = !canAsk() || runIn(chat) || held.value.has(chat);
    if (!place || !record || isHeld || (last && last.record.state !== "DONE" && !record.isUrged && !urged.has(chat))) return;
    urged.delete(chat);
    const { isUrged, ...said } = record;
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

/** @param {import("../store/turns.js").TurnRecord} record @param {import("../store/turns.js").Attachment[]} attachments */
function withFiles(record, attachments) {
  return attachments.length ? { ...record, attachments } : record;
}

/** @param {"user" | "assistant"} role @param {string} conversation @param {string | null} parent @param {string} text @param {string} state */
function recordOf(role, conversation, parent, text, state) {
  const now = Date.now();
  return /** @type {import("../store/turns.js").TurnRecord} */ ({
    id: newId(), conversation, parent, role, text, reasoning: "", tools: [], state,
    request: null, model: "", seed: null, finish: null, failure: null, usage: null, timings: null,
    times: timesFromNow(), isEdited: false, created: now, v: 1,
  });
}
