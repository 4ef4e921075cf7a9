// Comparisons: one prompt in several lanes that differ in what they ask, and what is done with them.

import { requestFor, valuesOf, withoutForm } from "./asked.js";
import { contentOf, messagesOf } from "./content.js";
import { isForm } from "./held.js";
import { newId } from "./ids.js";
import { Lane } from "./lane.js";
import { titleOf } from "./place.js";
import { replacing } from "./replacing.js";
import { Series } from "./series.js";
import { offerUndo } from "./session.js";
import { Shelf } from "./shelf.js";
import { FIRST_CAP, MAX_LANES } from "./slots.js";

/** @typedef {import("./asked.js").Values} Values */
/** @typedef {import("./turn.js").Turn} Turn */

// A seed that a person can say aloud; which one it is has no meaning.
const SEED_RANGE = 1000;

export const shelf = new Shelf("compare", blank);
export const open = shelf.open;

// --- Actions

/** Asks all lanes. Answers that are there stay as a comparison of their own. Returns the id of this one. */
export function runAll() {
  const { prompt } = open.value;
  const text = prompt.value;
  const series = open.value.hasAnswers.value ? again(open.value) : open.value;
  // From now on the run itself has it.
  shelf.type("");
  prompt.value = open.value.asked;
  series.prompt.value = text;
  series.title.value = titleOf(text);
  shelf.take(series);
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
  if (!series.title.value) series.title.value = titleOf(series.prompt.value);
  return replacing(series, lane, () => ask(series, [[lane]]));
}

/** Goes on with answers that were cut. @param {Lane[]} lanes */
export async function resume(lanes) {
  await open.value.resume(lanes);
  await shelf.refresh();
}

/** One more, like the last but with the next seed. */
export function addLane() {
  const series = open.value;
  const last = series.lanes.value[series.lanes.value.length - 1];
  const { seed } = valuesOf(series, last);
  return duplicate(last, { seed: (seed ?? 0) + 1 });
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
  const before = series.lanes.value;
  series.lanes.value = before.filter((other) => other !== lane);
  if (lane.turn.value) series.keep([lane.turn.value.id]);
  else keep(series);
  offerUndo("Removed a lane", () => {
    series.lanes.value = series.lanes.value.toSpliced(before.indexOf(lane), 0, lane).slice(0, MAX_LANES);
    keep(series);
  });
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
  const [{ values }] = series.lanes.value;
  const kept = Object.entries([...names].some(isForm) ? withoutForm(values.value) : values.value).filter(([name]) => !names.has(name));
  series.lanes.value = variants.slice(0, MAX_LANES).map((variant) => Lane.fresh({ ...Object.fromEntries(kept), ...variant }));
  shelf.take(series);
  return series.id;
}

/**
 * A comparison of answers that are there. Returns its id.
 * @param {Turn[]} before the turns of the chat above the answers: the question, and what was called for its sake
 * @param {Turn[]} siblings
 */
export async function compareTurns(before, siblings) {
  const at = before.findLastIndex(({ record }) => record.role === "user");
  const { text = "", attachments = [] } = before[at]?.record ?? {};
  // With the files in it.
  const prompt = /** @type {string} */ (contentOf({ text, attachments: attachments.filter(({ url }) => !url) }));
  const said = (/** @type {Turn[]} */ turns) => turns.flatMap(({ record }) => messagesOf(record));
  const about = { prompt, pictures: attachments.filter(({ url }) => url), history: said(before.slice(0, Math.max(at, 0))), after: said(before.slice(at + 1)) };
  const whole = siblings.filter((turn) => !turn.isRunning).slice(0, MAX_LANES);
  const hasModels = new Set(whole.map(({ record }) => record.model)).size > 1;
  const lanes = whole.map(({ record }) => {
    const { messages: said = [], ...values } = record.request ?? {};
    const system = said[0]?.role === "system" ? said[0].content : "";
    const own = { ...values, ...(system && { system }), ...(hasModels && { model: record.model }) };
    return new Lane({ id: newId(), prompt: "", values: own, turn: structuredClone(record) });
  });
  const series = Series.fresh("compare", about, lanes);
  series.asked = prompt;
  series.title.value = titleOf(prompt);
  shelf.take(series);
  await keep(series);
  return series.id;
}

// --- Internal

function blank() {
  const seed = Math.floor(Math.random() * SEED_RANGE) + 1;
  return Series.fresh("compare", { values: { seed, max_completion_tokens: FIRST_CAP } }, [Lane.fresh({}), Lane.fresh({ seed: seed + 1 })]);
}

/** The same lanes without their answers. @param {Series} series */
function again(series) {
  const { pictures, history, after, values } = series;
  const about = { prompt: series.prompt.value, pictures, history: history.value, after, values: values.value };
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
