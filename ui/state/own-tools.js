// Calls of the page's own tools, done as they come.

import { effect } from "../vendor/signals-core.js";
import { runTasks } from "./agents.js";
import { placeOf } from "./chats.js";
import { isWhole } from "./content.js";
import { isOurs } from "./own.js";
import { enter, keyOf, leave, running } from "./running.js";
import { sending } from "./session.js";
import { giveResult } from "./talk.js";
import { pathTo } from "./tree.js";

/** @typedef {import("./lane.js").Lane} Lane */
/** @typedef {import("./turn.js").Turn} Turn */

/** So often in a row a model may call without a word of the person. */
const MOST_ROUNDS = 8;

// --- Actions

/** Does what an answer that has ended calls for. @param {Turn} turn */
export async function doAll(turn) {
  const place = await placeOf(turn.record.conversation);
  const path = place ? pathTo(place.turns, turn.id) : [];
  const rounds = path.length - 1 - path.findLastIndex(({ record }) => record.role === "user");
  if (!path.length || turn.record.state !== "DONE" || rounds > MOST_ROUNDS) return;
  for (const index of turn.record.tools.keys()) if (!(await doCall(turn, index))) return;
}

/** Returns false where the person stopped it. @param {Turn} turn @param {number} index */
export async function doCall(turn, index) {
  const call = turn.record.tools[index];
  const key = keyOf(turn, index);
  if (!call || call.result !== undefined || running.value.has(key) || !isWhole(call) || !isOurs(turn.record, call.name)) return true;
  const give = (/** @type {string} */ result) => sending(() => giveResult(turn, index, result));
  if (call.name !== "agents") return await give(String(new Date())), true;
  const { tasks } = JSON.parse(call.arguments || "{}");
  const wanted = Array.isArray(tasks) ? tasks.filter((task) => typeof task === "string" && task.trim()) : [];
  if (!wanted.length) return await give("There is no task: “tasks” is a list of texts."), true;
  const series = runTasks(wanted);
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    series.stop();
  };
  enter({ turn, series, stop }, key);
  try {
    const result = await answersOf(series);
    if (isStopped || result === null) return false;
    // Still running until the model goes on: what waits comes after that.
    await give(result);
    return true;
  } finally {
    leave(key);
  }
}

// --- Internal

/** Null: the person stopped one of the tasks. @param {import("./series.js").Series} series */
async function answersOf(series) {
  const lanes = series.lanes.value;
  await ended(lanes);
  const isThere = (/** @type {Lane} */ lane) => series.lanes.value.includes(lane);
  const recordOf = (/** @type {Lane} */ lane) => lane.turn.value?.record;
  // One that was stopped in line has no turn.
  if (lanes.some((lane) => isThere(lane) && (recordOf(lane)?.state ?? "STOPPED") === "STOPPED")) return null;
  const said = (/** @type {Lane} */ lane) => [recordOf(lane)?.text, recordOf(lane)?.failure].filter(Boolean).join("\n");
  return lanes.map((lane, at) => `Task ${at + 1}: ${lane.prompt.value}\n${isThere(lane) ? said(lane) : "The person removed this task."}`).join("\n\n");
}

/** Returns once none of them runs; one may have been run anew meanwhile. @param {Lane[]} lanes @returns {Promise<void>} */
function ended(lanes) {
  return new Promise((resolve) => {
    const end = effect(() => {
      if (!lanes.some((lane) => lane.isRunning)) queueMicrotask(() => (end(), resolve()));
    });
  });
}
