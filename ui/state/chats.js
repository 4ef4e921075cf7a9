// The conversations: their list, the open one, and every change to them.

import * as conversations from "../store/conversations.js";
import * as drafts from "../store/drafts.js";
import * as stored from "../store/turns.js";
import { computed, signal } from "../vendor/signals-core.js";
import { newId } from "./ids.js";
import { running } from "./run.js";
import { storageProblem } from "./session.js";
import { deepest, head, turns } from "./tree.js";
import { Turn } from "./turn.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */

const PAGE = 60;
const TITLE_LENGTH = 60;

export const list = signal(/** @type {Conversation[]} */ ([]));
export const open = signal(blank());
/** Whether it is in the list yet: a chat is kept with its first message. */
export const isKept = computed(() => list.value.some((each) => each.id === open.value.id));

// --- Lifecycle

export async function start() {
  await keeping(async () => {
    list.value = await conversations.readNewest(PAGE);
  });
}

// --- Actions

/** Opens that conversation; one that is not there is a new one. @param {string | undefined} id */
export async function show(id) {
  // One that is still empty is as good as a new one, and may have settings already.
  if (id === open.value.id || (!id && !open.value.head)) return;
  const found = id ? await keeping(() => conversations.read(id)) : undefined;
  const all = new Map();
  if (found) {
    for (const record of (await keeping(() => stored.readAll(found.id))) ?? []) all.set(record.id, await revive(record));
  }
  open.value = found ?? blank();
  turns.value = all;
  head.value = found?.head ?? null;
}

/** @param {Partial<Conversation>} changes */
export async function change(changes, conversation = open.value) {
  const changed = { ...conversation, ...changes };
  if (changed.id === open.value.id) open.value = changed;
  if (!list.value.some((each) => each.id === changed.id)) return;
  list.value = list.value.map((each) => (each.id === changed.id ? changed : each));
  await keeping(() => conversations.save(changed));
}

/** Puts turns under the open conversation and makes the last of them the head. @param {Turn[]} added */
export async function add(added) {
  const first = added[0].record;
  const known = open.value;
  const title = known.title || titleOf(first.text);
  const changed = { ...known, title, head: added[added.length - 1].id, updated: Date.now(), preview: first.text.slice(0, 80) };
  turns.value = new Map([...turns.value, ...added.map((turn) => /** @type {[string, Turn]} */ ([turn.id, turn]))]);
  head.value = changed.head;
  open.value = changed;
  list.value = [changed, ...list.value.filter((each) => each.id !== changed.id)];
  await keeping(async () => {
    await conversations.save(changed);
    for (const turn of added) await stored.save(turn.record);
  });
}

/** Puts a turn beside its siblings, shown if its conversation is. @param {Turn} turn */
export async function addBeside(turn) {
  if (turn.record.conversation === open.value.id) {
    turns.value = new Map(turns.value).set(turn.id, turn);
    await goTo(turn.id);
  }
  await save(turn);
}

/** @param {Turn} turn */
export function save(turn) {
  return keeping(() => stored.save(turn.record));
}

/** Shows the branch of that turn. @param {string} id */
export function goTo(id) {
  head.value = deepest(turns.value, id);
  return change({ head: head.value });
}

/** The path up to that turn as a conversation of its own. Returns its id. @param {Turn[]} path */
export async function branch(path) {
  const conversation = { ...blank(), title: open.value.title, settings: open.value.settings, updated: Date.now() };
  /** @type {import("../store/turns.js").TurnRecord[]} */
  const copies = [];
  for (const turn of path) {
    const parent = copies[copies.length - 1]?.id ?? null;
    copies.push({ ...turn.record, id: newId(), parent, conversation: conversation.id });
  }
  const kept = { ...conversation, head: copies.at(-1)?.id ?? null };
  await keeping(async () => {
    await conversations.save(kept);
    for (const record of copies) await stored.save(record);
  });
  list.value = [kept, ...list.value];
  return kept.id;
}

/** @param {string} id */
export async function remove(id) {
  for (const run of running.value.values()) if (run.turn.record.conversation === id) run.stop();
  list.value = list.value.filter((each) => each.id !== id);
  await keeping(async () => {
    const all = await stored.readAll(id);
    await conversations.remove(id, all.map((record) => record.id));
  });
}

/** @param {string} id */
export async function draftOf(id) {
  return (await keeping(() => drafts.read(id))) ?? "";
}

/** @param {string} id @param {string} text */
export function keepDraft(id, text) {
  return keeping(() => drafts.save(id, text));
}

// --- Internal

/** @returns {Conversation} */
function blank() {
  return { id: newId(), title: "", head: null, settings: {}, created: Date.now(), updated: 0, preview: "", v: 1 };
}

/** @param {string} text */
function titleOf(text) {
  const line = text.trim().split("\n", 1)[0];
  if (line.length <= TITLE_LENGTH) return line;
  return `${line.slice(0, TITLE_LENGTH).replace(/\s+\S*$/, "")}…`;
}

/** A turn as it was kept. One that still streamed when its page died is cut, with all that was kept of its text. */
async function revive(/** @type {import("../store/turns.js").TurnRecord} */ record) {
  const live = running.value.get(record.id);
  if (live) return live.turn;
  const turn = new Turn(record);
  if (!turn.isRunning) return turn;
  for (const piece of await stored.readPieces(record.id)) {
    record.reasoning += piece.reasoning;
    record.text += piece.text;
  }
  turn.cut();
  await stored.finish(record);
  return turn;
}

/** What cannot be kept is said, and the page goes on without. @template T @param {() => Promise<T>} work */
async function keeping(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DOMException) && !(error instanceof Error)) throw error;
    storageProblem.value = error.message || error.name;
    return undefined;
  }
}
