// Turns as they are kept, and the pieces of an answer that still streams.

import * as database from "./database.js";
import { forget } from "./drafts.js";

/**
 * @typedef {{name: string, arguments: string, result?: string, list?: string}} ToolCall list: the id of the tasks that it made
 * @typedef {[token: string, logprob: number, others: [token: string, logprob: number][]]} TokenChoice
 * @typedef {{name: string, type: string, size: number, text?: string, url?: string}} Attachment text of a file, or a
 *   picture as a data: address
 * @typedef {{id: string, conversation: string, parent: string | null, role: "user" | "assistant", text: string,
 *   reasoning: string, tools: ToolCall[], state: string, request: any, model: string,
 *   seed: number | null, finish: string | null, failure: string | null, usage: any, timings: any,
 *   times: {sent: number, thought: number | null, first: number | null, text: number | null, last: number | null},
 *   isEdited: boolean, logprobs?: TokenChoice[], attachments?: Attachment[], forcedAt?: number | null, sameAs?: string, isUrged?: boolean, received?: any, isBySocket?: boolean, hand?: number, created: number, v: 1}} TurnRecord
 *   isUrged: one that waits goes out whatever became of the answer before it; hand: which tab's request writes it: of two, that of the higher one
 * @typedef {{turn: string, n: number, hand?: number, reasoning: string, text: string}} Piece
 */

/** @param {string} conversation @returns {Promise<TurnRecord[]>} */
export function readAll(conversation) {
  return database.byIndex("turns", "conversation", conversation);
}

/** All or none of them, and their conversation with them. @param {TurnRecord[]} turns @param {unknown} [conversation] */
export function saveAll(turns, conversation) {
  return database.write(["turns", "conversations"], (store) => {
    for (const turn of turns) store("turns").put(turn);
    if (conversation) store("conversations").put(conversation);
  });
}

/** @param {TurnRecord} turn */
export function save(turn) {
  return saveAll([turn]);
}

/**
 * All with their texts, also those that are still in pieces; nothing else comes between.
 * @param {string} conversation @param {(turn: TurnRecord) => boolean} isInPieces @returns {Promise<TurnRecord[]>}
 */
export async function readWhole(conversation, isInPieces) {
  const transaction = (await database.open()).transaction(["turns", "pieces"]);
  const records = await database.result(transaction.objectStore("turns").index("conversation").getAll(conversation));
  const whole = async (/** @type {TurnRecord} */ record) => joined(record, await database.result(transaction.objectStore("pieces").getAll(piecesOf(record.id))));
  return Promise.all(records.map((record) => (isInPieces(record) ? whole(record) : record)));
}

/** A turn with the texts of its pieces; a hand that has it no more wrote none of it. @param {TurnRecord} turn @param {Piece[]} pieces @returns {TurnRecord} */
export function joined(turn, pieces) {
  const whole = (/** @type {"text" | "reasoning"} */ channel) => turn[channel] + pieces.map((piece) => (piece.hand === turn.hand ? piece[channel] : "")).join("");
  return { ...turn, text: whole("text"), reasoning: whole("reasoning") };
}

/** @param {string} turn @returns {Promise<Piece[]>} */
export function readPieces(turn) {
  return database.inRange("pieces", piecesOf(turn));
}

/** @param {Piece} piece */
export function savePiece(piece) {
  return database.put("pieces", piece);
}

/** What there is of an answer that begins anew: in one piece, and nothing of it in another. @param {string} turn @param {string} text @param {string} reasoning */
export function gather(turn, text, reasoning) {
  return database.write(["pieces"], (store) => {
    store("pieces").delete(piecesOf(turn));
    store("pieces").put({ turn, n: 0, text, reasoning });
  });
}

/**
 * Changes a turn by what is kept of it and of its pieces, which then are gone; nothing else comes between. Returns it. Where the
 * change gives back what it was given, all stays.
 * @param {string} id @param {(turn: TurnRecord, pieces: Piece[]) => TurnRecord} change
 */
export async function amend(id, change) {
  const transaction = (await database.open()).transaction(["turns", "pieces"], "readwrite", { durability: "strict" });
  const [turns, pieces] = [transaction.objectStore("turns"), transaction.objectStore("pieces")];
  const record = await database.result(turns.get(id));
  if (!record) return void pieces.delete(piecesOf(id));
  const changed = change(record, await database.result(pieces.getAll(piecesOf(id))));
  if (changed === record) return changed;
  turns.put(changed);
  pieces.delete(piecesOf(id));
  return /** @type {TurnRecord} */ (changed);
}

/** With their pieces, and what was begun to be written anew of them. @param {string[]} ids */
export function remove(ids) {
  forget(ids);
  return database.write(["turns", "pieces", "drafts"], (store) => {
    for (const id of ids) {
      store("turns").delete(id);
      store("drafts").delete(id);
      store("pieces").delete(piecesOf(id));
    }
  });
}

/**
 * The end of an answer: its text whole, its pieces gone. One that was removed meanwhile stays so, and so does one that
 * a higher hand writes by now. Returns whether one does.
 * @param {TurnRecord} turn
 */
export async function finish(turn) {
  const kept = await amend(turn.id, (record) => (isAbove(record, turn) ? record : turn));
  return Boolean(kept && kept !== turn);
}

/** Whether another hand than that one has the turn. @param {Pick<TurnRecord, "hand">} one @param {Pick<TurnRecord, "hand">} other */
export function isAbove({ hand: one = 0 }, { hand: other = 0 }) {
  return one > other;
}

/** @param {string} turn */
export function piecesOf(turn) {
  return IDBKeyRange.bound([turn, 0], [turn, Infinity]);
}
