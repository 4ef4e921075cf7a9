// What a person does with the open chat: send, stop, answer again, edit, go on.

import { add, addBeside, change, open, save } from "./chats.js";
import { newId, newSeed } from "./ids.js";
import { Run, running } from "./run.js";
import { requestFor } from "./settings.js";
import { head, pathTo, turns } from "./tree.js";
import { Turn } from "./turn.js";

// --- Actions

/** @param {string} text */
export function send(text) {
  return ask(text, head.value);
}

/** The same question otherwise: a sibling, and an answer to it. @param {Turn} turn @param {string} text */
export function resend(turn, text) {
  return ask(text, turn.record.parent);
}

/** Another answer beside this one. @param {Turn} turn @param {number} [seed] the same one gives the same answer */
export function again(turn, seed = newSeed()) {
  const before = pathTo(turns.value, turn.record.parent);
  const isSame = turn.record.seed === seed && turn.record.request;
  const request = isSame ? turn.record.request : requestFor(before, seed);
  return answer([], turn.record.parent, request);
}

/** Goes on with an answer that was cut: the same request and seed, so the same text. @param {Turn} turn */
export async function resume(turn) {
  turn.advance("resume");
  Object.assign(turn.record, { failure: null, finish: null, usage: null, timings: null, tools: [] });
  turn.record.times = { ...turn.record.times, sent: performance.timeOrigin + performance.now(), first: null, last: null };
  await save(turn);
  new Run(turn, fork).start();
}

export function stop() {
  for (const run of running.value.values()) if (run.turn.record.conversation === open.value.id) run.stop();
}

/** The run of the open chat, or null. */
export function runOfOpen() {
  const all = [...running.value.values()];
  return all.find((run) => run.turn.record.conversation === open.value.id) ?? null;
}

// --- Internal

/** @param {string} text @param {string | null} parent */
function ask(text, parent) {
  const question = new Turn(record("user", parent, text, "DONE"));
  const request = requestFor([...pathTo(turns.value, parent), question], newSeed());
  return answer([question], question.id, request);
}

/** @param {Turn[]} before @param {string | null} parent @param {any} request */
async function answer(before, parent, request) {
  const turn = new Turn({ ...record("assistant", parent, "", "SENT"), request, seed: request.seed });
  turn.record.created += 1;
  await (before.length ? add([...before, turn]) : addSibling(turn));
  new Run(turn, fork).start();
}

/** A sibling that goes on where the turn has something else. @param {Turn} turn @param {string} text @param {string} reasoning */
function fork(turn, text, reasoning) {
  const { request, seed, model, parent, conversation, times } = turn.record;
  const other = { ...record("assistant", parent, text, "SENT"), conversation, reasoning, request, seed, model, times };
  const sibling = new Turn(other);
  addBeside(sibling);
  return sibling;
}

/** @param {Turn} turn */
async function addSibling(turn) {
  const { title, preview } = open.value;
  await add([turn]);
  await change({ title, preview });
}

/** @param {"user" | "assistant"} role @param {string | null} parent @param {string} text @param {string} state */
function record(role, parent, text, state) {
  const now = Date.now();
  return /** @type {import("../store/turns.js").TurnRecord} */ ({
    id: newId(), conversation: open.value.id, parent, role, text, reasoning: "", tools: [], state,
    request: null, model: "", seed: null, finish: null, failure: null, usage: null, timings: null,
    times: { sent: performance.timeOrigin + performance.now(), thought: null, first: null, text: null, last: null },
    isEdited: false, created: now, v: 1,
  });
}

