// Chats to and from one file: written piece by piece, and merged by id.

import * as database from "./database.js";
import { Refused } from "./fields.js";
import { checkTrees, VERSION } from "./incoming.js";
import * as stored from "./turns.js";

/**
 * @typedef {import("./conversations.js").Conversation} Conversation
 * @typedef {import("./turns.js").TurnRecord} TurnRecord
 * @typedef {{conversation: Conversation, isKnown: boolean, turns: TurnRecord[], numNew: number, numNewer: number, numKept: number}} Merge
 *   turns: those that will be written; numKept: those of the file that are as new or newer here
 */

/** @returns {Promise<Conversation[]>} */
export async function readConversations() {
  return database.result((await database.open()).transaction("conversations").objectStore("conversations").getAll());
}

export async function countConversations() {
  return database.result((await database.open()).transaction("conversations").objectStore("conversations").count());
}

/** The turns of a chat as they go to a file: what still streams is cut there, what waits stays here. @param {string} conversation */
export async function readTurns(conversation) {
  const kept = (await stored.readAll(conversation)).filter((turn) => turn.state !== "WAITING");
  return Promise.all(kept.map(async (turn) => cut(turn, isEnded(turn) ? [] : await stored.readPieces(turn.id))));
}

/** As a file has it, with what came meanwhile. @param {TurnRecord} turn @param {import("./turns.js").Piece[]} [pieces] @returns {TurnRecord} */
export function cut(turn, pieces = []) {
  if (isEnded(turn)) return turn;
  return { ...stored.joined(turn, pieces), state: "CUT" };
}

/**
 * Yields the file's text, a chat at a time.
 * @param {Conversation[]} conversations @param {(conversation: string) => Promise<TurnRecord[]>} turnsOf
 * @returns {AsyncGenerator<string>}
 */
export async function* written(conversations, turnsOf) {
  yield `{"ignis_export": ${VERSION},\n"conversations": [\n${conversations.map((chat) => JSON.stringify(chat)).join(",\n")}\n],\n"turns": [\n`;
  let comma = "";
  for (const { id } of conversations) {
    const turns = await turnsOf(id);
    if (!turns.length) continue;
    yield comma + turns.map((turn) => JSON.stringify(turn)).join(",\n");
    comma = ",\n";
  }
  yield "\n]}\n";
}

/**
 * What a file would change here. Raises Refused.
 * @param {import("./incoming.js").Incoming} file
 * @param {(conversation: string) => Promise<{conversation: Conversation | undefined, turns: TurnRecord[]}>} [read]
 * @returns {Promise<Merge[]>}
 */
export async function compared({ conversations, turns }, read = readWhole) {
  const byChat = new Map(conversations.map(({ id }) => [id, /** @type {TurnRecord[]} */ ([])]));
  for (const turn of turns) byChat.get(turn.conversation)?.push(turn);
  return Promise.all(
    conversations.map(async (conversation) => {
      const here = await read(conversation.id);
      return merged(conversation, byChat.get(conversation.id) ?? [], here.conversation, here.turns);
    }),
  );
}

/** @param {Merge} merge */
export function keep({ conversation, turns }) {
  return stored.saveAll(turns, conversation);
}

// --- Internal

/** @param {Conversation} conversation @param {TurnRecord[]} incoming @param {Conversation | undefined} known @param {TurnRecord[]} here @returns {Merge} */
function merged(conversation, incoming, known, here) {
  const kept = new Map(here.map((turn) => [turn.id, turn]));
  const isNew = (/** @type {TurnRecord} */ turn) => !kept.has(turn.id);
  const isNewer = (/** @type {TurnRecord} */ turn) => {
    const old = kept.get(turn.id);
    // The place of a turn is part of what it is: one that moved is another one with a stolen name.
    return old !== undefined && isEnded(old) && old.parent === turn.parent && old.role === turn.role && ageOf(turn) > ageOf(old);
  };
  const turns = incoming.filter((turn) => isNew(turn) || isNewer(turn));
  const numNew = turns.filter(isNew).length;
  const all = [...new Map([...here, ...turns].map((turn) => [turn.id, turn])).values()];
  checkTrees(all);
  if (conversation.head && !all.length) throw new Refused(`The chat “${conversation.title}” has a last turn, and none of its turns is in the file.`);
  const chosen = known && known.updated >= conversation.updated ? known : conversation;
  const head = all.some((turn) => turn.id === chosen.head) ? chosen.head : newest(all);
  const counts = { numNew, numNewer: turns.length - numNew, numKept: incoming.length - turns.length };
  return { conversation: { ...chosen, head }, isKnown: known !== undefined, turns, ...counts };
}

/** @param {string} id */
async function readWhole(id) {
  return { conversation: /** @type {Conversation | undefined} */ (await database.get("conversations", id)), turns: await stored.readAll(id) };
}

/** When something of it came last. @param {TurnRecord} turn */
function ageOf({ created, times }) {
  return Math.max(created, times.last ?? 0);
}

/** @param {TurnRecord[]} turns */
function newest(turns) {
  return turns.reduce((found, turn) => (!found || turn.created >= found.created ? turn : found), /** @type {TurnRecord | null} */ (null))?.id ?? null;
}

/** @param {TurnRecord} turn */
function isEnded({ state }) {
  return state === "DONE" || state === "STOPPED" || state === "FAILED" || state === "CUT";
}
