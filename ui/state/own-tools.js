// Calls of the page's own tools, done as they come.

import { runTasks } from "./agents.js";
import { placeOf } from "./chats.js";
import { isWhole } from "./content.js";
import { isOurs, lists } from "./own.js";
import { sending } from "./session.js";
import { giveResult } from "./talk.js";
import { pathTo } from "./tree.js";

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
  for (const index of turn.record.tools.keys()) await doCall(turn, index);
}

/** @param {Turn} turn @param {number} index */
export async function doCall(turn, index) {
  const call = turn.record.tools[index];
  if (call.result !== undefined || !isWhole(call) || !isOurs(turn.record, call.name)) return;
  const { tasks } = JSON.parse(call.arguments || "{}");
  const result = call.name === "agents" ? await answersTo(tasks, `${turn.id}/${index}`) : String(new Date());
  if (result !== null) await sending(() => giveResult(turn, index, result));
}

// --- Internal

/** Null: the person stopped it. @param {unknown} tasks @param {string} key */
async function answersTo(tasks, key) {
  const wanted = Array.isArray(tasks) ? tasks.filter((task) => typeof task === "string" && task.trim()) : [];
  if (!wanted.length) return "There is no task: “tasks” is a list of texts.";
  const { series, ended } = runTasks(wanted);
  lists.value = new Map(lists.value).set(key, series);
  await ended;
  const rest = new Map(lists.value);
  rest.delete(key);
  lists.value = rest;
  const records = series.lanes.value.map((lane) => lane.turn.value?.record);
  if (records.some((record) => record?.state === "STOPPED")) return null;
  return records.map((record, at) => `Task ${at + 1}: ${wanted[at]}\n${record?.text || record?.failure || ""}`).join("\n\n");
}
