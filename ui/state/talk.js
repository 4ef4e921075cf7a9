// What a person does with a chat: ask, answer again, edit, give results, go on.

import { tell } from "../store/tabs.js";
import { add, addBeside, save } from "./adding.js";
import { here, placeOf } from "./chats.js";
import { isWhole } from "./content.js";
import { measure } from "./filling.js";
import { newSeed } from "./ids.js";
import { isMissing, requestOfSame } from "./respondent.js";
import { Run } from "./run.js";
import { stopCallsOf, stopOf } from "./running.js";
import { hasNoModel } from "./server.js";
import { isConnected } from "./session.js";
import { requestFor } from "./settings.js";
import { below, pathTo, turns } from "./tree.js";
import { recordOf, timesFromNow, Turn } from "./turn.js";

/** @typedef {import("./chats.js").Place} Place */

/** By how much a limit that was reached is raised. */
const RAISE = 2;

// --- Actions

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
  const request = allowed(isSame ? requestOfSame(turn.record) : { ...requestFor(before, seed), seed });
  stopBelow(turn);
  return answer([], turn.record.parent, request, here(), isSame ? turn.id : undefined);
}

/** What a tool came to. With the last result of a turn the model goes on. @param {Turn} called @param {number} index @param {string} result */
export async function giveResult(called, index, result) {
  const turn = await noteOf(called, index, { result });
  if (turn?.record.tools.every((each) => each.result !== undefined || !isWhole(each))) await carryOn(turn);
}

/** Keeps what became of a call. Returns its turn as it is by now. @param {Turn} turn @param {number} index @param {Partial<import("../store/turns.js").ToolCall>} news */
export async function noteOf({ id, record: { conversation } }, index, news) {
  // Meanwhile it may have been deleted, or read anew.
  const turn = (await placeOf(conversation))?.turns.get(id);
  // A call has one result: a second press finds the first.
  const call = turn?.record.tools[index];
  if (!turn || !call || call.result !== undefined) return undefined;
  turn.become({ tools: turn.record.tools.map((each, at) => (at === index ? { ...each, ...news } : each)) });
  turn.results.value += 1;
  await save(turn);
  tell({ kind: "turns", chat: null, records: [turn.record] });
  return turn;
}

/** The model goes on from the results of its calls, where nobody went on from there or elsewhere meanwhile. @param {Turn} turn */
export async function carryOn({ id, record: { conversation } }) {
  const place = await placeOf(conversation);
  if (!place || place.head !== id || below(place.turns, id).length) return;
  await answer([], id, allowed(requestFor(pathTo(place.turns, id), newSeed(), place.conversation.settings)), place);
}

/** What the model should have said: a sibling that is history from here on. @param {Turn} turn @param {string} text */
export function correct(turn, text) {
  const { conversation, parent, model } = turn.record;
  return addBeside(new Turn({ ...recordOf("assistant", conversation, parent, text, "DONE"), model, isEdited: true }));
}

/** Goes on with an answer that was cut: the same request and seed, so the same text. @param {Turn} turn */
export async function resume(turn) {
  // Another tab was asked for it at the same time.
  if (turn.isRunning) return;
  turn.record.request = allowed(requestOfSame(turn.record));
  // Its calls are made anew.
  stopOf([turn.id]);
  turn.advance("resume");
  // Whoever has it after all has it no more; two that ask at once do not tie.
  const hand = Math.floor(turn.record.hand ?? 0) + 1 + Math.random();
  Object.assign(turn.record, { hand, failure: null, finish: null, usage: null, timings: null, tools: [], logprobs: undefined });
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
  const request = allowed(requestOfSame(before));
  const { usage } = before;
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

/** What runs there goes out of sight with that turn. @param {Turn} turn */
function stopBelow(turn) {
  stopCallsOf(turn.id);
  stopOf(below(turns.value, turn.id).map(({ id }) => id));
}

/** Whether there is a server, and something on it that can answer; that model, where one is named. @param {string} [model] */
export function canAsk(model) {
  return isConnected.value && !hasNoModel.value && !isMissing(model);
}

/** That request. Raises a SyntaxError where it would be refused until its model is loaded. @param {any} request */
function allowed(request) {
  if (isMissing(request.model)) throw new SyntaxError(`${request.model} must be loaded first.`);
  return request;
}

/** @param {string} text @param {string | null} parent @param {import("../store/turns.js").Attachment[]} [attachments] @param {Place} [place] */
export function ask(text, parent, attachments = [], place = here()) {
  const question = new Turn(withFiles(recordOf("user", place.conversation.id, parent, text, "DONE"), attachments));
  navigator.storage?.persist?.();
  return answer([question], question.id, requestOf(question, place), place);
}

/** @param {Turn} question @param {Place} place */
export function requestOf(question, { turns, conversation }) {
  return allowed(requestFor([...pathTo(turns, question.record.parent), question], newSeed(), conversation.settings));
}

/**
 * @param {Turn[]} before @param {string | null} parent @param {any} request @param {Place} place
 * @param {string} [sameAs] the turn whose request it is
 */
export async function answer(before, parent, request, place, sameAs) {
  const record = recordOf("assistant", place.conversation.id, parent, "", "SENT");
  const turn = new Turn({ ...record, request, seed: request.seed, sameAs });
  turn.record.created += 1;
  // It runs before another tab is told of it, so that it is claimed when that asks.
  launch(turn);
  await add([...before, turn], place.conversation);
}

/** Returns once it has ended; what it calls of the page's own tools is then under way. @param {Turn} turn */
async function launch(turn) {
  measure(turn);
  const run = new Run(turn, fork);
  await run.start();
  if (run.isGiven) return;
  try {
    if (!run.turn.record.tools.length) return;
    const { doAll } = await import("./own-tools.js");
    await new Promise((/** @type {(_?: unknown) => void} */ begun) => doAll(run.turn, begun).finally(begun));
  } finally {
    run.end();
  }
}

/** A sibling that goes on where the turn has something else. @param {Turn} turn @param {string} text @param {string} reasoning */
function fork(turn, text, reasoning) {
  const { request, seed, model, parent, conversation, times } = turn.record;
  const other = { ...recordOf("assistant", conversation, parent, text, "SENT"), reasoning, request, seed, model, times: { ...times } };
  const sibling = new Turn(other);
  addBeside(sibling);
  return sibling;
}

/** @param {import("../store/turns.js").TurnRecord} record @param {import("../store/turns.js").Attachment[]} attachments */
export function withFiles(record, attachments) {
  return attachments.length ? { ...record, attachments } : record;
}
