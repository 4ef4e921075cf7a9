// Lists of tasks for agents: each a request of its own on the class of agents, without history and without tools.

import { newSeed } from "./ids.js";
import { Lane } from "./lane.js";
import { obstacleToResuming } from "./obstacle.js";
import { titleOf } from "./place.js";
import { replacing } from "./replacing.js";
import { Series } from "./series.js";
import { offerUndo } from "./session.js";
import { Shelf } from "./shelf.js";
import { FIRST_CAP } from "./slots.js";

export const shelf = new Shelf("agents", () => Series.fresh("agents", { values: { max_completion_tokens: FIRST_CAP } }, []));
export const open = shelf.open;

// --- Actions

/** Puts what was typed under the tasks, and runs all that have not been done; those that were cut go on. */
export function run() {
  const series = open.value;
  const added = tasksIn(series.prompt.value).map((text) => Lane.fresh({ seed: newSeed() }, text));
  series.lanes.value = [...series.lanes.value, ...added];
  if (!series.title.value && series.lanes.value.length) series.title.value = titleOf(series.lanes.value[0].prompt.value);
  shelf.type("");
  return runRest(series);
}

/** All of it that has not been done; what was cut goes on. @param {Series} series */
export function runRest(series) {
  const waiting = waitingOf(series);
  const cut = waiting.filter((lane) => lane.canResume);
  return Promise.all([resume(cut, series), ask(series, waiting.filter((lane) => !cut.includes(lane)))]);
}

/** Those tasks as a list of their own. @param {string[]} tasks */
export function listOf(tasks) {
  const series = Series.fresh("agents", { values: { max_completion_tokens: FIRST_CAP } }, tasks.map((task) => Lane.fresh({ seed: newSeed() }, task)));
  series.title.value = titleOf(tasks[0]);
  return series;
}

/** The same tasks once more, as a list of their own with the same seeds. Returns its id. */
export function runAgain() {
  const { values, lanes, title } = open.value;
  const series = Series.fresh("agents", { values: values.value, title: title.value }, lanes.value.map((lane) => Lane.fresh(lane.values.value, lane.prompt.value)));
  shelf.take(series);
  ask(series, series.lanes.value);
  return series.id;
}

/** @param {Lane} lane */
export function runOne(lane) {
  const series = open.value;
  return replacing(series, lane, () => ask(series, [lane]));
}

/** Goes on with answers that were cut. @param {Lane[]} lanes */
export async function resume(lanes, series = open.value) {
  if (!lanes.length) return;
  await series.resume(lanes);
  await shelf.refresh();
}

/** @param {Lane} lane */
export function remove(lane) {
  const series = open.value;
  lane.stop();
  const before = series.lanes.value;
  series.lanes.value = before.filter((other) => other !== lane);
  if (lane.turn.value) series.keep([lane.turn.value.id]);
  else keep(series);
  offerUndo("Removed a task", () => {
    series.lanes.value = series.lanes.value.toSpliced(before.indexOf(lane), 0, lane);
    keep(series);
  });
}

/** @param {string} name @param {unknown} value undefined: the model's */
export function set(name, value) {
  const series = open.value;
  const { [name]: _, ...rest } = series.values.value;
  series.values.value = value === undefined ? rest : { ...rest, [name]: value };
  keep(series);
}

/** A list to begin with. @param {{system: string, tasks: string[]}} example */
export function useExample({ system, tasks }) {
  set("system", system || undefined);
  shelf.type(tasks.join("\n"));
}

// --- Questions

/** What a run would run: what has not been done, and was not cut where it cannot go on now. @param {Series} series */
export function waitingOf({ lanes }) {
  const isWaiting = (/** @type {Lane} */ lane) => !lane.isRunning && lane.turn.value?.state.value !== "DONE";
  return lanes.value.filter((lane) => isWaiting(lane) && !(lane.canResume && obstacleToResuming(lane)));
}

/**
 * The tasks of a text: one a line; where a line is left empty, one a paragraph.
 * @param {string} text
 */
export function tasksIn(text) {
  const hasParagraphs = /\n\s*\n/.test(text.trim());
  return text.split(hasParagraphs ? /\n\s*\n/ : /\n/).map((task) => task.trim()).filter(Boolean);
}

/** What all of them took together; times in ms since 1970, null before there are any. @param {Series} series */
export function totals(series) {
  const lanes = series.lanes.value;
  const records = lanes.flatMap((lane) => lane.turn.value?.record ?? []);
  const usages = records.flatMap((record) => record.usage ?? []);
  const sum = (/** @type {(usage: any) => number} */ of) => usages.reduce((total, usage) => total + of(usage), 0);
  return {
    prompt: sum((usage) => usage.prompt_tokens),
    cached: sum((usage) => usage.prompt_tokens_details?.cached_tokens ?? 0),
    written: lanes.reduce((total, lane) => total + (lane.turn.value?.record.usage?.completion_tokens ?? lane.numPieces), 0),
    began: records.length ? Math.min(...records.map(({ times }) => times.sent)) : null,
    ended: records.length ? Math.max(...records.map(({ times }) => times.last ?? times.sent)) : null,
  };
}

/** @param {Series} series @param {Lane} lane */
export function requestFor(series, lane) {
  const { system = "", ...fields } = { ...series.values.value, ...lane.values.value };
  const messages = [{ role: "user", content: lane.prompt.value }];
  if (system.trim()) messages.unshift({ role: "system", content: system });
  return { messages, ...fields, class: "agent" };
}

// --- Internal

/** @param {Series} series @param {Lane[]} lanes */
async function ask(series, lanes) {
  if (!lanes.length) return;
  shelf.take(series);
  await series.run([lanes], (lane) => requestFor(series, lane));
  await shelf.refresh();
}

/** Without answers there is nothing to keep yet but the draft. @param {Series} series */
async function keep(series) {
  if (series.hasAnswers.value) await series.keep();
}
