// An answer from the request to its end, as a chat and as a lane read it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { chunk, completion, ending, served, texts } from "./streamed.mjs";

const { Lane } = await import("../../ui/state/lane.js");
const { Run } = await import("../../ui/state/run.js");
const { running } = await import("../../ui/state/running.js");
const { announcement } = await import("../../ui/state/session.js");
const { resume } = await import("../../ui/state/talk.js");
const { rateOf, timesFromNow, Turn } = await import("../../ui/state/turn.js");

const REQUEST = { messages: [{ role: "user", content: "Hi" }], seed: 7, n: 1 };

const record = (more = {}) => ({
  id: "t", conversation: "c", parent: "q", role: "assistant", text: "", reasoning: "", tools: [], state: "SENT", request: REQUEST, model: "",
  seed: 7, finish: null, failure: null, usage: null, timings: null, times: timesFromNow(), isEdited: false, created: 1, v: 1, ...more,
});
const noFork = () => assert.fail("nothing differs");

/** Runs an answer to its end. */
async function ran(turn, fork = noFork) {
  const run = new Run(turn, fork);
  const states = [];
  const unwatch = turn.state.subscribe((state) => states.push(state));
  await run.start();
  run.end();
  unwatch();
  return states;
}

test("an answer goes through its states, and has its text, thoughts, counts and times", async () => {
  const asked = served(completion([chunk({ role: "assistant" }), chunk({ reasoning_content: "Well" }), ...texts("One ", "two"), ...ending(3)]));
  const turn = new Turn(record());
  assert.deepEqual(await ran(turn), ["SENT", "READING", "THINKING", "WRITING", "DONE"]);
  const { text, reasoning, model, finish, usage, times } = turn.record;
  assert.deepEqual({ text, reasoning, model, finish }, { text: "One two", reasoning: "Well", model: "m", finish: "stop" });
  assert.deepEqual(usage, { completion_tokens: 3 });
  const since = (/** @type {number} */ at) => Math.round(at - times.sent);
  assert.deepEqual([since(times.first), since(times.thought), since(times.text), since(times.last)], [200, 200, 300, 400]);
  assert.deepEqual(asked, [{ ...REQUEST, stream: true, stream_options: { include_usage: true } }]);
  assert.equal(running.value.size, 0);
});

test("calls of tools are put together from their parts", async () => {
  const part = (index, call) => chunk({ tool_calls: [{ index, function: call }] });
  served(completion([part(0, { name: "weather" }), part(1, { name: "time", arguments: "{}" }), part(0, { arguments: '{"city"' }), part(0, { arguments: ":1}" }), ...ending(9, "tool_calls")]));
  const turn = new Turn(record());
  await ran(turn);
  assert.deepEqual(turn.record.tools, [{ name: "weather", arguments: '{"city":1}' }, { name: "time", arguments: "{}" }]);
  assert.equal(turn.record.finish, "tool_calls");
});

test("however it breaks off, what came stays, and what broke is said", async () => {
  for (const [what, answer, state, failure] of [
    ["a lost connection", completion([...texts("One "), new TypeError("network error")]), "CUT", /ended before the answer did/],
    ["a stream that just ends", completion(texts("One ")), "CUT", /ended before the answer did/],
    ["an error of the server", completion([...texts("One "), `data: {"error": {"message": "out of pages", "code": "kv"}}\n\n`]), "FAILED", /^out of pages$/],
    ["a line that is no JSON", completion([...texts("One "), "data: {\n\n"]), "FAILED", /^This page failed: /],
  ]) {
    served(answer);
    const turn = new Turn(record());
    await ran(turn);
    assert.deepEqual([turn.record.state, turn.record.text, turn.record.usage?.completion_tokens], [state, "One ", 1], what);
    assert.match(turn.record.failure, failure);
    assert.equal(announcement.value.isUrgent, true);
  }
});

test("a refusal and a server that is not there end it before its first word", async () => {
  served(() => Response.json({ error: { message: "too long", code: "context" } }, { status: 400 }));
  const refused = new Turn(record());
  assert.deepEqual(await ran(refused), ["SENT", "FAILED"]);
  assert.equal(refused.record.failure, "too long");
  served();
  const lost = new Turn(record());
  assert.deepEqual(await ran(lost), ["SENT", "CUT"]);
  assert.equal(lost.record.failure, "The server does not answer");
});

test("a stop keeps what came", async () => {
  served(completion(texts("One ", "two "), { isOpen: true }));
  const turn = new Turn(record());
  const run = new Run(turn, noFork);
  const ended = run.start();
  while (turn.record.text !== "One two ") await new Promise(setImmediate);
  run.stop();
  await ended;
  run.end();
  assert.deepEqual([turn.record.state, turn.record.text, turn.record.failure], ["STOPPED", "One two ", null]);
  assert.deepEqual(turn.record.usage, { prompt_tokens: 0, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 0 }, isCounted: 1 });
  assert.equal(announcement.value.text, "Stopped");
});

test("other tabs are told of the end, and what one asks for is answered", async () => {
  const heard = [];
  const other = new BroadcastChannel("ignis");
  other.onmessage = ({ data }) => heard.push(data);
  served(completion(texts("One "), { isOpen: true }));
  const turn = new Turn(record());
  const run = new Run(turn, noFork);
  const ended = run.start();
  while (!turn.record.text) await new Promise(setImmediate);
  other.postMessage({ kind: "who", turn: "another" });
  other.postMessage({ kind: "who", turn: "t" });
  while (!heard.some(({ kind }) => kind === "mine")) await new Promise(setImmediate);
  other.postMessage({ kind: "stop", turn: "t" });
  await ended;
  run.end();
  while (heard.at(-1)?.kind !== "ended") await new Promise(setImmediate);
  other.close();
  assert.equal(heard.filter(({ kind }) => kind === "mine").length, 1);
  assert.deepEqual([heard.at(-1).record.state, heard.at(-1).record.text], ["STOPPED", "One "]);
});

/** One that was cut, with times of long ago. */
const cutRecord = (text, more) => record({ state: "CUT", text, times: { sent: -9e5, thought: null, first: -8e5, text: -8e5, last: -7e5 }, ...more });

test("a resumed answer is the whole one, and its rate that of the request that brought it", async () => {
  served(completion([...texts("one ", "two ", "three ", "four"), ...ending(4)]));
  const turn = new Turn(cutRecord("one two "));
  turn.advance("resume");
  turn.record.times = timesFromNow();
  await ran(turn);
  assert.equal(turn.record.text, "one two three four");
  assert.equal(rateOf(turn.record)?.toFixed(3), "10.000");
  assert.equal(Math.round(turn.record.times.text - turn.record.times.sent), 100);
  assert.equal(turn.isCatchingUp.value, false);
});

test("an answer that breaks off while it comes once more is not said to be as short as what came", async () => {
  served(completion([...texts("one "), new TypeError("network error")]));
  const turn = new Turn(cutRecord("one two "));
  turn.advance("resume");
  await ran(turn);
  assert.deepEqual([turn.record.state, turn.record.text, turn.record.usage], ["CUT", "one two ", null]);
});

test("a resumed lane is the whole one, and its rate that of the request that brought it", async () => {
  served(completion([chunk({ reasoning_content: "well" }), ...texts("one ", "two ", "three ", "four"), ...ending(5)]));
  const lane = new Lane({ id: "l", prompt: "", values: {}, turn: cutRecord("one two ", { reasoning: "well" }) });
  lane.lineUp();
  await lane.resume();
  const { record: resumed } = lane.turn.value;
  assert.deepEqual([resumed.state, resumed.text, resumed.reasoning], ["DONE", "one two three four", "well"]);
  assert.equal(rateOf(resumed)?.toFixed(3), "10.000");
  assert.deepEqual([resumed.times.first, resumed.times.thought, resumed.times.text].map((at) => Math.round(at - resumed.times.sent)), [100, 100, 200]);
  assert.equal(lane.numPieces, 5);
});

test("a rate is the server's, and by the clock only where that had the time to say", () => {
  const times = { sent: 0, thought: null, first: 100, text: 100, last: 101 };
  const usage = { completion_tokens: 4 };
  assert.equal(rateOf(record({ times, usage })), null);
  assert.equal(rateOf(record({ times, usage, timings: { predicted_per_second: 60 } })), 60);
  assert.equal(rateOf(record({ times, usage, timings: { predicted_per_second: 0 } })), null);
  // Of a few tokens within a moment nobody knows one.
  assert.equal(rateOf(record({ times, usage, timings: { predicted_per_second: 26584, predicted_n: 3, predicted_ms: 0.1 } })), null);
  assert.equal(rateOf(record({ times, usage, timings: { predicted_per_second: 400, predicted_n: 40, predicted_ms: 100 } })), 400);
  assert.equal(rateOf(record({ times: { ...times, last: 600 }, usage })), 6);
  assert.equal(rateOf(record({ times: { ...times, first: null }, usage })), null);
});

test("an answer that comes out otherwise stays, and a sibling goes on with what is new", async () => {
  served(completion([...texts("one ", "too ", "three"), ...ending(3)]));
  const turn = new Turn(cutRecord("one two "));
  turn.advance("resume");
  turn.record.times = timesFromNow();
  const siblings = [];
  await ran(turn, (_, text, reasoning) => {
    siblings.push(new Turn(record({ id: "s", text, reasoning })));
    return siblings[0];
  });
  assert.deepEqual([turn.record.state, turn.record.text, turn.record.failure], ["CUT", "one two ", "It comes out differently from word 2 on"]);
  const [sibling] = siblings;
  assert.deepEqual([sibling.record.state, sibling.record.text, sibling.record.finish], ["DONE", "one too three", "stop"]);
  assert.equal(running.value.size, 0);
});

test("of two tabs that are asked at once to go on, the later one leaves it to the other", async () => {
  const asked = served();
  const turn = new Turn(record({ state: "CUT", text: "some of it" }));
  turn.become({ state: "WRITING" });
  await resume(turn);
  assert.deepEqual([turn.record.state, turn.record.text, asked], ["WRITING", "some of it", []]);
});
