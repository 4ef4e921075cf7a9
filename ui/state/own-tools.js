// Calls of the page's own tools, done as they come.

import { effect } from "../vendor/signals-core.js";
import { listOf, runRest, shelf } from "./agents.js";
import { placeOf } from "./chats.js";
import { isWhole } from "./content.js";
import { isOurs } from "./own.js";
import { enter, keyOf, leave, running } from "./running.js";
import { sending } from "./session.js";
import { giveResult, noteOf } from "./talk.js";
import { pathTo } from "./tree.js";

/** @typedef {import("./lane.js").Lane} Lane */
/** @typedef {import("./series.js").Series} Series */
/** @typedef {import("./turn.js").Turn} Turn */

/** So often in a row a model may call without a word of the person. */
const MOST_ROUNDS = 8;

// --- Actions

/** Does what an answer that has ended calls for. @param {Turn} turn @param {() => void} begun called once a list of tasks is there */
export async function doAll(turn, begun) {
  const place = await placeOf(turn.record.conversation);
  const path = place ? pathTo(place.turns, turn.id) : [];
  const rounds = path.length - 1 - path.findLastIndex(({ record }) => record.role === "user");
  if (!path.length || turn.record.state !== "DONE" || rounds > MOST_ROUNDS) return;
  for (const index of turn.record.tools.keys()) if (!(await doCall(turn, index, begun))) return;
}

/** Returns false where the person stopped it. @param {Turn} turn @param {number} index @param {() => void} [begun] */
export async function doCall(turn, index, begun) {
  const call = turn.record.tools[index];
  const key = keyOf(turn, index);
  if (!call || call.result !== undefined || running.value.has(key) || !isWhole(call) || !isOurs(turn.record, call.name)) return true;
  const give = (/** @type {string} */ result) => sending(() => giveResult(turn, index, result));
  if (call.name !== "agents") return await give(String(new Date())), true;
  const { tasks } = JSON.parse(call.arguments || "{}");
  const wanted = Array.isArray(tasks) ? tasks.filter((task) => typeof task === "string" && task.trim()) : [];
  if (!wanted.length) return await give("There is no task: “tasks” is a list of texts."), true;
  let isStopped = false;
  /** @type {Series | undefined} */
  let series;
  const stop = () => {
    isStopped = true;
    series?.stop();
  };
  enter({ turn, stop }, key);
  try {
    series = await listFor(turn, index, wanted);
    if (isStopped || series.isElsewhere.value) return false;
    enter({ turn, series, stop }, key);
    begun?.();
    runRest(series);
    const result = await answersOf(series, wanted);
    // What another tab runs by now goes on from there.
    if (isStopped || result === null || series.isElsewhere.value) return false;
    // Still running until the model goes on: what waits comes after that.
    await give(result);
    return true;
  } finally {
    leave(key);
  }
}

// --- Internal

/** The list that the call made already, or one that it makes now: kept, and known to the call before it runs. @param {Turn} turn @param {number} index @param {string[]} tasks */
async function listFor(turn, index, tasks) {
  const made = await shelf.find(turn.record.tools[index].list ?? "");
  if (made) return made;
  const series = listOf(tasks);
  await series.keep();
  await noteOf(turn, index, { list: series.id });
  return series;
}

/** Null: the person stopped one of the tasks, or the server ended it half done; it can go on. @param {Series} series @param {string[]} tasks */
async function answersOf(series, tasks) {
  await ended(series.lanes.value);
  const left = [...series.lanes.value];
  const lanes = tasks.map((task) => {
    const lane = left.find(({ prompt }) => prompt.value === task);
    if (lane) left.splice(left.indexOf(lane), 1);
    return lane;
  });
  const recordOf = (/** @type {Lane} */ lane) => lane.turn.value?.record;
  // One that was stopped in line has no turn.
  const canGoOn = (/** @type {Lane} */ lane) => lane.canResume || ["STOPPED", "CUT"].includes(recordOf(lane)?.state ?? "STOPPED");
  if (lanes.some((lane) => lane && canGoOn(lane))) return null;
  const said = (/** @type {Lane} */ lane) => [recordOf(lane)?.text, recordOf(lane)?.failure].filter(Boolean).join("\n");
  return tasks.map((task, at) => `Task ${at + 1}: ${task}\n${lanes[at] ? said(/** @type {Lane} */ (lanes[at])) : "The person removed this task."}`).join("\n\n");
}

/** Returns once none of them runs; one may have been run anew meanwhile. @param {Lane[]} lanes @returns {Promise<void>} */
function ended(lanes) {
  return new Promise((resolve) => {
    const end = effect(() => {
      if (!lanes.some((lane) => lane.isRunning)) queueMicrotask(() => (end(), resolve()));
    });
  });
}
