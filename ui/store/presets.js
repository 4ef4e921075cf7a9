// Settings with a name, to begin chats with.

import * as database from "./database.js";

/** @typedef {{id: string, name: string, settings: Record<string, any>, created: number, v: 1}} Preset */

/** By their names. @returns {Promise<Preset[]>} */
export async function readAll() {
  const all = /** @type {Preset[]} */ (await database.result((await database.open()).transaction("presets").objectStore("presets").getAll()));
  return all.sort((one, other) => one.name.localeCompare(other.name));
}

/** @param {Preset} preset */
export function save(preset) {
  return database.put("presets", preset);
}

/** @param {string} id */
export function remove(id) {
  return database.write(["presets"], (store) => store("presets").delete(id));
}
