// The server's configuration: its fields, their values, where each came from, and changes.

import { client } from "./client.js";

/** A reload may take as long as the slowest disk; the answer then says what came of it. */
const WAIT_S = 600;

/**
 * @typedef {string | number | boolean | null | Record<string, string>} Value
 * @typedef {{key: string, group: string, name: string, flag: string, env: string, kind: string, default: Value, rule: string,
 *   minimum: number | null, maximum: number | null, multiple: number | null, zero: string | null, choices: string[] | null,
 *   families: string[], visible: boolean, effect: "live" | "reload" | "restart", patchable: boolean, description: string}} Field
 * @typedef {{key: string, source: "flag" | "env" | "changed" | "file" | "profile" | "default", place: string, is_set: boolean,
 *   is_locked: boolean, pending?: boolean}} Origin
 * @typedef {{applied: "live" | "restart" | "reload", persisted: "yes" | "no" | "after_reload", path?: string, reason?: string,
 *   restart_required?: string[]}} Applied
 */

/** @returns {Promise<{groups: {name: string, description: string}[], data: Field[]}>} */
export function readConfigFields() {
  return client.get("/v1/config/fields");
}

/** @returns {Promise<Record<string, Record<string, any>>>} */
export function readConfig() {
  return client.get("/v1/config");
}

/** @returns {Promise<{file: string | null, profile: string | null, data: Origin[]}>} */
export function readConfigOrigins() {
  return client.get("/v1/config/origins");
}

/** As a file would say it. @returns {Promise<string>} */
export function readConfigFile() {
  return client.text("/v1/config?format=toml");
}

/** All of it or nothing; returns once it is in effect. @param {Record<string, any>} changes @returns {Promise<Applied>} */
export function changeConfig(changes) {
  return client.patch("/v1/config", changes, { Prefer: `wait=${WAIT_S}` });
}
