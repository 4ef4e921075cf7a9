// The configuration form: what the server says, what was changed here and not applied yet, and its applying.

import { ApiError } from "../api/errors.js";
import { changeConfig, readConfig, readConfigFields, readConfigFile, readConfigOrigins } from "../api/config.js";
import { computed, signal } from "../vendor/signals-core.js";
import { flatten, fromText, place, problemOf, toText } from "./config-value.js";
import { loaded, watch } from "./server.js";
import { announce } from "./session.js";

/** @typedef {import("../api/config.js").Field} Field */
/** @typedef {{text: string, problem: string}} Edit */

export const groups = signal(/** @type {{name: string, description: string}[]} */ ([]));
export const fields = signal(/** @type {Field[]} */ ([]));
/** By key; of a family too, as model.qwen3.max_context. */
export const values = signal(/** @type {Map<string, import("../api/config.js").Value>} */ (new Map()));
export const origins = signal(/** @type {Map<string, import("../api/config.js").Origin>} */ (new Map()));
export const file = signal(/** @type {string | null} */ (null));
/** The configuration as a file; "" until it was asked for. */
export const asFile = signal("");
export const edits = signal(/** @type {Map<string, Edit>} */ (new Map()));
/** Why the configuration cannot be shown. */
export const trouble = signal("");
/** What became of the last changes. */
export const outcome = signal({ text: "", isBad: false });
export const isApplying = signal(false);
/** Whether what is in effect may be past: it changes, and was not asked for since. */
let isPast = false;

/** Of families' own fields, by key: those that were asked for here and have no value yet. */
export const added = signal(/** @type {Set<string>} */ (new Set()));

/** Every field, and after it those that a family of models has of its own. */
export const rows = computed(() =>
  fields.value.flatMap((field) => [
    field,
    ...field.families
      .map((family) => ({ ...field, key: `${field.group}.${family}.${field.name}`, families: [], default: null }))
      .filter(({ key }) => (values.value.get(key) ?? null) !== null || edits.value.has(key) || added.value.has(key)),
  ]),
);
export const changed = computed(() => rows.value.filter(({ key }) => edits.value.has(key)));
export const differing = computed(() => rows.value.filter(({ key }) => !["default", undefined].includes(origins.value.get(key)?.source)));
/** What the changes cost. */
export const cost = computed(() => ({
  live: changed.value.filter(({ effect }) => effect === "live").length,
  reload: changed.value.filter(({ effect }) => effect === "reload").length,
  restart: changed.value.filter(({ effect }) => effect === "restart").length,
  wrong: changed.value.filter(({ key }) => edits.value.get(key)?.problem).length,
  seconds: loaded.value?.load_estimate_seconds,
}));

// --- Actions

/** Asks for all of it anew; what was changed here stays. */
export async function load() {
  try {
    const [table, config, from] = await Promise.all([readConfigFields(), readConfig(), readConfigOrigins()]);
    groups.value = table.groups;
    fields.value = table.data;
    values.value = flatten(config, new Set(table.data.map(({ key }) => key)));
    origins.value = new Map(from.data.map((origin) => [origin.key, origin]));
    file.value = from.file;
    trouble.value = "";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    trouble.value = error.message;
  }
}

export async function loadFile() {
  try {
    asFile.value = await readConfigFile();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    trouble.value = error.message;
  }
}

/** What a field's control shows. @param {Field} field */
export function textOf(field) {
  return edits.value.get(field.key)?.text ?? toText(field, values.value.get(field.key) ?? null);
}

/** @param {Field} field @param {string} text as it was typed */
export function edit(field, text) {
  const next = new Map(edits.value);
  if (!isPast && isInEffect(field, text)) next.delete(field.key);
  // What was found wrong is so until the field is left again, or it would come and go with each key.
  else next.set(field.key, { text, problem: edits.value.get(field.key)?.problem ?? "" });
  edits.value = next;
  outcome.value = { text: "", isBad: false };
}

/** Gives a family of models a field of its own. @param {Field} field @param {string} family */
export function add(field, family) {
  added.value = new Set(added.value).add(`${field.group}.${family}.${field.name}`);
}

/** Says what is wrong with a field that is left. @param {Field} field */
export function check(field) {
  const found = edits.value.get(field.key);
  if (found) mark(field.key, problemOf(field, found.text));
}

/** @param {string} [key] without it: all of them */
export function discard(key) {
  const next = new Map(key ? edits.value : []);
  if (key) next.delete(key);
  edits.value = next;
  added.value = new Set([...added.value].filter((each) => key !== undefined && each !== key));
  outcome.value = { text: "", isBad: false };
}

/** Applies what needs no reload. */
export function applyLive() {
  return apply(changed.value.filter(({ effect }) => effect !== "reload"));
}

export function applyAll() {
  return apply(changed.value);
}

// --- Internal

/** @param {Field[]} chosen */
async function apply(chosen) {
  for (const field of chosen) check(field);
  const wrong = chosen.find(({ key }) => edits.value.get(key)?.problem);
  if (wrong) return tell(`${wrong.key}: ${edits.value.get(wrong.key)?.problem}`, true);
  /** @type {Record<string, any>} */
  const body = {};
  for (const field of chosen) place(body, field.key, fromText(field, edits.value.get(field.key)?.text ?? ""));
  const sent = new Map(chosen.map(({ key }) => [key, edits.value.get(key)?.text]));
  isApplying.value = isPast = true;
  // A reload is told by the list of models as it goes.
  const following = setTimeout(watch, 300);
  try {
    const applied = await changeConfig(body);
    // What was typed since is a change of its own.
    keepEdits((key, text) => !sent.has(key) || sent.get(key) !== text);
    tell(wordsOf(applied, chosen.length));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.param && edits.value.get(error.param)?.text === sent.get(error.param)) mark(error.param, error.message);
    tell(`Nothing was applied: ${error.message}`, true);
  } finally {
    clearTimeout(following);
    isApplying.value = false;
  }
  watch();
  await load();
  isPast = false;
  keepEdits((key, text) => !rows.value.some((field) => field.key === key && isInEffect(field, text)));
  if (asFile.value) await loadFile();
}

/** A secret's value is not known here: any text is a change of it. @param {Field} field @param {string} text */
function isInEffect(field, text) {
  return field.kind !== "secret" && text === toText(field, values.value.get(field.key) ?? null);
}

/** @param {(key: string, text: string) => boolean} isKept */
function keepEdits(isKept) {
  edits.value = new Map([...edits.value].filter(([key, { text }]) => isKept(key, text)));
}

/** @param {import("../api/config.js").Applied} applied @param {number} count */
function wordsOf(applied, count) {
  const what = count === 1 ? "One change" : `${count} changes`;
  const late = applied.restart_required?.length ? `; ${applied.restart_required.join(", ")} from the next start on` : "";
  const kept = applied.persisted === "yes" ? `, kept in ${applied.path}` : `, for this run only${applied.reason ? `: ${applied.reason}` : ""}`;
  return `${what} applied${late}${applied.persisted === "after_reload" ? "" : kept}`;
}

/** @param {string} text @param {boolean} [isBad] */
function tell(text, isBad = false) {
  outcome.value = { text, isBad };
  announce(text, isBad);
}

/** @param {string} key @param {string} problem */
function mark(key, problem) {
  const found = edits.value.get(key);
  if (found) edits.value = new Map(edits.value).set(key, { ...found, problem });
}
