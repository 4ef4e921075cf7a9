// Settings with a name: kept, taken by a chat, changed and removed.

import * as stored from "../store/presets.js";
import { hear, tell } from "../store/tabs.js";
import { computed, signal } from "../vendor/signals-core.js";
import { change } from "./chats.js";
import { newId } from "./ids.js";
import { keeping, offerUndo } from "./session.js";
import { settings } from "./settings.js";

/** @typedef {import("../store/presets.js").Preset} Preset */

export const presets = signal(/** @type {Preset[]} */ ([]));
/** The one that the open chat began with, as long as there is one of that name. */
export const chosen = computed(() => presets.value.find(({ id }) => id === settings.value.preset) ?? null);
/** Whether the chat says otherwise than its preset by now. */
export const isChanged = computed(() => chosen.value !== null && inOrder(own()) !== inOrder(chosen.value.settings));
/** Whether there is anything to keep. */
export const isEmpty = computed(() => inOrder(own()) === "[]");

let isFollowing = false;

// --- Actions

/** Reads them, and goes along with what other tabs do to them. */
export async function load() {
  if (!isFollowing) hear((message) => message.kind === "presets" && load());
  isFollowing = true;
  presets.value = (await keeping(stored.readAll)) ?? presets.value;
}

/** The chat says what the preset says, and nothing else; without one it says nothing. @param {string} id */
export function take(id) {
  const preset = presets.value.find((each) => each.id === id);
  return change({ settings: { ...preset?.settings, ...(preset && { preset: id }), ...pinned() } });
}

/** Under that name, in the place of one that has it already. @param {string} name */
export async function keep(name) {
  const same = presets.value.find((each) => each.name.toLowerCase() === name.trim().toLowerCase());
  const preset = /** @type {Preset} */ ({ id: same?.id ?? newId(), name: name.trim(), settings: own(), created: same?.created ?? Date.now(), v: 1 });
  await put(preset);
  await change({ settings: { ...preset.settings, preset: preset.id, ...pinned() } });
}

/** @param {Preset} preset */
export async function drop(preset) {
  await keeping(() => stored.remove(preset.id));
  await spread();
  offerUndo(`Deleted the preset ${preset.name}`, () => put(preset));
}

// --- Internal

/** What the chat says, without the preset's name, and without its model: a preset is for any. */
function own() {
  const { preset, model, ...rest } = settings.value;
  return rest;
}

function pinned() {
  const { model } = settings.value;
  return model ? { model } : {};
}

/** @param {Preset} preset */
async function put(preset) {
  await keeping(() => stored.save(preset));
  await spread();
}

async function spread() {
  tell({ kind: "presets" });
  await load();
}

/** The same for settings that say the same: nothing that is not set, in one order. @param {Record<string, any>} said */
function inOrder(said) {
  const isSaid = (/** @type {[string, any]} */ [name, value]) => value !== undefined && value !== "" && !(name === "sampling" && !Object.keys(value).length);
  const sorted = (/** @type {[string, any][]} */ entries) => entries.sort(([one], [other]) => (one < other ? -1 : 1));
  const entries = Object.entries(said).filter(isSaid);
  return JSON.stringify(sorted(entries.map(([name, value]) => [name, name === "sampling" ? sorted(Object.entries(value)) : value])));
}
