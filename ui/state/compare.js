// Comparisons: one prompt in several lanes that differ in what they ask, and what is done with them.

import * as conversations from "../store/conversations.js";
import * as drafts from "../store/drafts.js";
import * as turns from "../store/turns.js";
import { list as chats } from "./chats.js";
import { newId } from "./ids.js";
import { Lane } from "./lane.js";
import { OFFERED } from "./offered.js";
import { keeping, MAX_LANES, Series } from "./series.js";
import { Shelf } from "./shelf.js";

/** @typedef {Record<string, any>} Values by the names of the request's fields, and "system" */
/** @typedef {import("./turn.js").Turn} Turn */

const DRAFT = "compare";
// A seed that a person can say aloud; which one it is has no meaning.
const SEED_RANGE = 1000;
const ORDER = ["model", "system", "reasoning_effort", "thinking_budget", ...OFFERED.map(({ name }) => name)];

export const shelf = new Shelf("compare", blank);
export const open = shelf.open;

// --- Lifecycle

export async function start() {
  const series = open.value;
  const draft = (await keeping(() => drafts.read(DRAFT))) ?? "";
  if (!series.prompt.value && !series.hasAnswers.value) series.prompt.value = draft;
  await shelf.refresh();
}

// --- Actions

/** @param {string} text */
export function type(text) {
  open.value.prompt.value = text;
  return keeping(() => drafts.save(DRAFT, text));
}

/** Asks all lanes. Answers that are there stay as a comparison of their own. Returns the id of this one. */
export function runAll() {
  const series = open.value.hasAnswers.value ? again(open.value) : open.value;
  series.nameAfter(series.prompt.value);
  shelf.take(series);
  keeping(() => drafts.save(DRAFT, ""));
  // A model at a time, so that each is loaded once.
  const lanes = series.lanes.value;
  const models = [...new Set(lanes.map((lane) => valuesOf(series, lane).model ?? ""))];
  const groups = models.map((model) => lanes.filter((lane) => (valuesOf(series, lane).model ?? "") === model));
  ask(series, groups);
  return series.id;
}

/** Asks one lane alone. @param {Lane} lane */
export function runOne(lane) {
  const series = open.value;
  if (!series.title.value) series.nameAfter(series.prompt.value);
  return ask(series, [[lane]]);
}

/** One more, like the last but with the next seed. */
export function addLane() {
  const series = open.value;
  const last = series.lanes.value[series.lanes.value.length - 1];
  const { seed } = valuesOf(series, last);
  return duplicate(last, { seed: seed + 1 });
}

/** @param {Lane} lane @param {Values} [changes] */
export function duplicate(lane, changes = {}) {
  const series = open.value;
  if (series.lanes.value.length >= MAX_LANES) return;
  const at = series.lanes.value.indexOf(lane) + 1;
  series.lanes.value = series.lanes.value.toSpliced(at, 0, Lane.fresh({ ...lane.values.value, ...changes }));
  keep(series);
}

/** @param {Lane} lane */
export function removeLane(lane) {
  const series = open.value;
  lane.stop();
  series.lanes.value = series.lanes.value.filter((other) => other !== lane);
  keep(series);
}

/** @param {Lane} lane @param {string} name @param {unknown} value undefined: as all lanes */
export function setForLane(lane, name, value) {
  lane.values.value = changed(lane.values.value, name, value);
  keep(open.value);
}

/** @param {string} name @param {unknown} value undefined: the model's */
export function setForAll(name, value) {
  const series = open.value;
  series.values.value = changed(series.values.value, name, value);
  keep(series);
}

/** Lanes that differ in what is varied, in place of those there are. @param {Values[]} variants */
export function vary(variants) {
  const series = open.value.hasAnswers.value ? again(open.value) : open.value;
  const names = new Set(variants.flatMap((variant) => Object.keys(variant)));
  const kept = Object.entries(series.lanes.value[0].values.value).filter(([name]) => !names.has(name));
  series.lanes.value = variants.slice(0, MAX_LANES).map((variant) => Lane.fresh({ ...Object.fromEntries(kept), ...variant }));
  shelf.take(series);
  return series.id;
}

/**
 * A comparison of answers that are there. Returns its id.
 * @param {Turn[]} before the turns of the chat above the answers, the last of them the question
 * @param {Turn[]} siblings
 */
export async function compareTurns(before, siblings) {
  const messages = before.map(({ record }) => ({ role: record.role, content: record.text }));
  const prompt = messages.pop()?.content ?? "";
  const whole = siblings.filter((turn) => !turn.isRunning).slice(0, MAX_LANES);
  const hasModels = new Set(whole.map(({ record }) => record.model)).size > 1;
  const lanes = whole.map(({ record }) => {
    const { messages: said = [], ...values } = record.request ?? {};
    const system = said[0]?.role === "system" ? said[0].content : "";
    const own = { ...values, ...(system && { system }), ...(hasModels && { model: record.model }) };
    return new Lane({ id: newId(), prompt: "", values: own, turn: structuredClone(record) });
  });
  const series = Series.fresh("compare", { prompt, history: messages }, lanes);
  series.asked = prompt;
  series.nameAfter(prompt);
  shelf.take(series);
  await keep(series);
  return series.id;
}

/** Makes a chat of a lane. Returns the chat's id. @param {Lane} lane */
export async function toChat(lane) {
  const series = open.value;
  const { system, reasoning_effort: effort, model: _, ...sampling } = valuesOf(series, lane);
  const settings = { sampling, ...(system && { system }), ...(effort && { effort }) };
  const id = newId();
  const now = Date.now();
  /** @type {import("../store/turns.js").TurnRecord[]} */
  const records = [];
  const said = [...series.history.value, { role: "user", content: series.asked || series.prompt.value }];
  for (const [at, { role, content }] of said.entries()) {
    const kind = /** @type {"user" | "assistant"} */ (role);
    records.push({ ...EMPTY, id: newId(), conversation: id, parent: records[at - 1]?.id ?? null, role: kind, text: content, created: now + at });
  }
  const answer = lane.turn.value?.record;
  if (answer) records.push({ ...structuredClone(answer), id: newId(), conversation: id, parent: records[records.length - 1].id, created: now + said.length });
  const head = records[records.length - 1].id;
  const chat = { id, title: series.title.value, head, settings, created: now, updated: now, preview: said[said.length - 1].content.slice(0, 80), v: /** @type {1} */ (1) };
  await keeping(async () => {
    await conversations.save(chat);
    for (const record of records) await turns.save(record);
  });
  chats.value = [chat, ...chats.value];
  return id;
}

// --- Questions

/** All that a lane asks. @param {Series} series @param {Lane} lane @returns {Values} */
export function valuesOf(series, lane) {
  return { ...series.values.value, ...lane.values.value };
}

/**
 * The names of what is not the same in all lanes, in the panel's order.
 * @param {Series} series
 */
export function varied(series) {
  const all = series.lanes.value.map((lane) => valuesOf(series, lane));
  const names = new Set(all.flatMap((values) => Object.keys(values)));
  const differing = [...names].filter((name) => all.some((values) => !isEqual(values[name], all[0][name])));
  return differing.sort((one, other) => place(one) - place(other));
}

/** Whether two lanes ask the same, so that they must answer the same. @param {Series} series @param {Lane} one @param {Lane} other */
export function askTheSame(series, one, other) {
  return isEqual(sorted(requestFor(series, one)), sorted(requestFor(series, other)));
}

/** Whether a lane's answer is to something else than it asks by now. @param {Series} series @param {Lane} lane */
export function isStale(series, lane) {
  const request = lane.turn.value?.record.request;
  return Boolean(request) && !isEqual(sorted(request), sorted(requestFor(series, lane)));
}

/** @param {Series} series @param {Lane} lane */
export function requestFor(series, lane) {
  const { system = "", ...fields } = valuesOf(series, lane);
  const messages = [...series.history.value, { role: "user", content: series.prompt.value.trim() }];
  if (system.trim()) messages.unshift({ role: "system", content: system });
  return { messages, ...fields };
}

// --- Internal

const EMPTY = {
  reasoning: "", tools: [], state: "DONE", request: null, model: "", seed: null, finish: null, failure: null, usage: null,
  timings: null, times: { sent: 0, thought: null, first: null, text: null, last: null }, isEdited: false, v: /** @type {1} */ (1),
};

function blank() {
  const seed = Math.floor(Math.random() * SEED_RANGE) + 1;
  return Series.fresh("compare", { values: { seed } }, [Lane.fresh({}), Lane.fresh({ seed: seed + 1 })]);
}

/** The same lanes without their answers. @param {Series} series */
function again(series) {
  const { history, values } = series;
  const about = { prompt: series.prompt.value, history: history.value, values: values.value };
  series.prompt.value = series.asked;
  return Series.fresh("compare", about, series.lanes.value.map((lane) => Lane.fresh(lane.values.value)));
}

/** @param {Series} series @param {Lane[][]} groups */
async function ask(series, groups) {
  await series.run(groups, (lane) => requestFor(series, lane));
  await shelf.refresh();
}

/** Without answers there is nothing to keep yet but the draft. @param {Series} series */
async function keep(series) {
  if (series.hasAnswers.value) await series.keep();
}

/** @param {Values} values @param {string} name @param {unknown} value */
function changed(values, name, value) {
  const { [name]: _, ...rest } = values;
  return value === undefined ? rest : { ...rest, [name]: value };
}

/** @param {string} name */
function place(name) {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length : at;
}

/** @param {unknown} one @param {unknown} other */
function isEqual(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** @param {Record<string, unknown>} request */
function sorted(request) {
  return Object.entries(request).sort(([one], [other]) => (one < other ? -1 : 1));
}
