// The form of the configuration, while what it says is applied.

import assert from "node:assert/strict";
import { test } from "node:test";
// First, so that the channel between tabs does not keep this alive.
import "./streamed.mjs";
import * as config from "../../ui/state/config.js";

const field = { key: "model.max_context", group: "model", name: "max_context", kind: "integer", effect: "live", families: [], default: 1, choices: null, minimum: 1 };

test("what is typed while changes are applied is a change of its own, also what was in effect before", async () => {
  for (const [since, left] of [["16384", 1], ["4096", 1], ["8192", 0]]) {
    let value = 4096;
    let release = () => {};
    const asked = new Promise((resolve) => {
      globalThis.fetch = async (url, { method = "GET", body } = {}) => {
        const json = (what) => new Response(JSON.stringify(what), { headers: { "content-type": "application/json" } });
        if (method === "PATCH") {
          await new Promise((go) => resolve((release = go)));
          value = JSON.parse(body).model.max_context;
          return json({ applied: "live", persisted: "yes", path: "x" });
        }
        if (String(url).includes("fields")) return json({ groups: [{ name: "model", description: "" }], data: [field] });
        if (String(url).includes("origins")) return json({ data: [{ key: field.key, source: "default" }], file: null });
        if (String(url).includes("config")) return json({ model: { max_context: value } });
        return new Promise(() => {});
      };
    });
    await config.load();
    config.edit(field, "8192");
    const applied = config.applyAll();
    await asked;
    config.edit(field, since);
    release();
    await applied;
    assert.deepEqual([config.textOf(field), config.edits.value.size], [since, left]);
    config.discard();
  }
});
