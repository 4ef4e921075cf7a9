// Comparisons and lists of tasks as they are kept: a run and its lanes in one record.

import * as database from "./database.js";
import { piecesOf } from "./turns.js";

/**
 * What was said in a chat before the prompt and after it is as requests have it. A lane has the values in which it departs from those of its run, by the names of the request's fields (and "system").
 * @typedef {{id: string, prompt: string, values: Record<string, any>, turn: import("./turns.js").TurnRecord | null}} LaneRecord
 * @typedef {{id: string, kind: "compare" | "agents", title: string, prompt: string, pictures?: import("./turns.js").Attachment[], history: any[], after?: any[],
 *   values: Record<string, any>, lanes: LaneRecord[], created: number, updated: number, v: 1}} RunRecord
 */

/** All of that kind, the newest first. @param {RunRecord["kind"]} kind @returns {Promise<RunRecord[]>} */
export async function readAll(kind) {
  const store = (await database.open()).transaction("runs").objectStore("runs");
  const all = /** @type {RunRecord[]} */ (await database.result(store.getAll()));
  return all.filter((run) => run.kind === kind).sort((one, other) => other.updated - one.updated);
}

/** @param {string} id @returns {Promise<RunRecord | undefined>} */
export function read(id) {
  return database.get("runs", id);
}

/** @param {RunRecord} run */
export function save(run) {
  return database.put("runs", run);
}

/** The end of a lane's answer: its text is in the run now, its pieces are gone, and those of the answer in whose place it came. @param {RunRecord} run @param {(string | undefined)[]} turns */
export function finish(run, turns) {
  const work = (/** @type {(name: string) => IDBObjectStore} */ store) => {
    store("runs").put(run);
    for (const turn of turns) if (turn) store("pieces").delete(piecesOf(turn));
  };
  return database.write(["runs", "pieces"], work, "strict");
}

/** @param {RunRecord} run */
export function remove(run) {
  return database.write(["runs", "pieces"], (store) => {
    store("runs").delete(run.id);
    for (const { turn } of run.lanes) if (turn) store("pieces").delete(piecesOf(turn.id));
  });
}
