// What a screen reader is told of an answer, and what the browser and a person are asked as messages go out.

import assert from "node:assert/strict";
import { test } from "node:test";

import { completion, ending, texts } from "./streamed.mjs";

let numAsked = 0;
Object.defineProperty(globalThis, "navigator", { value: { storage: { persist: () => void (numAsked += 1) } }, configurable: true });
const { here } = await import("../../ui/state/chats.js");
const outbox = await import("../../ui/state/outbox.js");
const { running } = await import("../../ui/state/running.js");
const { announcement, lostAt } = await import("../../ui/state/session.js");
const { ask } = await import("../../ui/state/talk.js");
const { recordOf } = await import("../../ui/state/turn.js");
const { effect } = await import("../../ui/vendor/signals-core.js");
const { held, waiting } = await import("../../ui/state/waiting.js");

/** What is told until an answer has ended. @param {string[]} words */
async function told(...words) {
  // What is measured beside it gets no answer.
  globalThis.fetch = async (path, { signal }) => (path === "/v1/chat/completions" ? completion([...texts(...words), ...ending(words.length)])(signal) : new Promise(() => {}));
  announcement.value = { text: "", isUrgent: false };
  const all = [];
  // Nothing else keeps the process alive.
  const alive = setInterval(() => {}, 1000);
  const unwatch = announcement.subscribe(({ text }) => text && all.push(text));
  await ask("Hi", null, [], here());
  await new Promise((resolve) => effect(() => void (running.value.size || resolve())));
  unwatch();
  clearInterval(alive);
  return all;
}

test("a screen reader hears that an answer is under way, then how it begins and how long it is", async () => {
  assert.deepEqual(await told("One ", "two"), ["Answering", "One two … 7 characters"]);
  assert.deepEqual(await told("a".repeat(150), "b".repeat(150)), ["Answering", `${"a".repeat(150)}${"b".repeat(50)} … 300 characters`]);
});

test("the browser is asked to keep what it has as the first message goes out", async () => {
  numAsked = 0;
  await told("One");
  assert.equal(numAsked, 1);
});

test("what waited for longer than a minute waits for a word of the person once the server is back, in an open page too", async () => {
  const record = (chat, age) => ({ ...recordOf("user", chat, null, "Hi", "WAITING"), created: Date.now() - age });
  outbox.start();
  lostAt.value = Date.now();
  waiting.value = [record("old", 61_000), record("new", 50_000)];
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([...held.value], []);
  lostAt.value = null;
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([...held.value], ["old"]);
});
