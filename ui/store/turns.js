// Turns as they are kept, and the pieces of an answer that still streams.

import * as database from "./database.js";

/**
 * @typedef {{id: string, conversation: string, parent: string | null, role: "user" | "assistant", text: string,
 *   reasoning: string, tools: {name: string, arguments: string}[], state: string, request: any, model: string,
 *   seed: number | null, finish: string | null, failure: string | null, usage: any, timings: any,
 *   times: {sent: number, thought: number | null, first: number | null, text: number | null, last: number | null},
 *   isEdited: boolean, created: number, v: 1}} TurnRecord
 * @typedef {{turn: string, n: number, reasoning: string, text: string}} Piece
 */

/** @param {string} conversation @returns {Promise<TurnRecord[]>} */
export function readAll(conversation) {
  return database.byIndex("turns", "conversation", conversation);
}

/** @param {TurnRecord} turn */
export function save(turn) {
  return database.put("turns", turn);
}

/** @param {Piece} piece */
export function savePiece(piece) {
  return database.put("pieces", piece);
}

/** @param {string} turn @returns {Promise<Piece[]>} */
export function readPieces(turn) {
  return database.inRange("pieces", piecesOf(turn));
}

/**
 * The end of an answer: its text whole, its pieces gone.
 * @param {TurnRecord} turn
 */
export function finish(turn) {
  const work = (/** @type {(name: string) => IDBObjectStore} */ store) => {
    store("turns").put(turn);
    store("pieces").delete(piecesOf(turn.id));
  };
  return database.write(["turns", "pieces"], work, "strict");
}

/** @param {string} turn */
export function piecesOf(turn) {
  return IDBKeyRange.bound([turn, 0], [turn, Infinity]);
}
