// Lanes and tasks: what is varied, what differs, and how many ask at once.

import assert from "node:assert/strict";
import { test } from "node:test";
// First, so that the channel between tabs does not keep this alive.
import "./streamed.mjs";
import { tasksIn } from "../../ui/state/agents.js";
import { askTheSame, requestFor, varied } from "../../ui/state/asked.js";
import { Lane } from "../../ui/state/lane.js";
import { Series } from "../../ui/state/series.js";
import { Slots } from "../../ui/state/slots.js";
import { seeds, spread } from "../../ui/state/variants.js";

const series = (...lanes) => Series.fresh("compare", { prompt: " Hi ", values: { seed: 1, system: "Be brief" } }, lanes.map((values) => Lane.fresh(values)));

test("a number is spread over its lanes, whole where it is whole, and none twice", () => {
  assert.deepEqual(spread("temperature", 0, 1.5, 4, false).map(({ temperature }) => temperature), [0, 0.5, 1, 1.5]);
  assert.deepEqual(spread("top_k", 1, 3, 8, true).map(({ top_k }) => top_k), [1, 2, 3]);
  assert.deepEqual(spread("temperature", 0.7, 2, 1, false), [{ temperature: 0.7 }]);
  assert.deepEqual(seeds(7, 3), [{ seed: 7 }, { seed: 8 }, { seed: 9 }]);
});

test("tags are what lanes differ in, what one lacks included", () => {
  assert.deepEqual(varied(series({}, { seed: 2, temperature: 0 }, { seed: 2 })), ["temperature", "seed"]);
  assert.deepEqual(varied(series({}, { seed: 1 })), []);
});

test("a lane asks what all ask, but for its own values", () => {
  const open = series({}, { temperature: 0, system: "" }, { seed: 1 });
  const [first, second, third] = open.lanes.value;
  assert.deepEqual(requestFor(open, first), { messages: [{ role: "system", content: "Be brief" }, { role: "user", content: "Hi" }], seed: 1 });
  assert.deepEqual(requestFor(open, second), { messages: [{ role: "user", content: "Hi" }], seed: 1, temperature: 0 });
  assert.ok(askTheSame(open, first, third));
  assert.ok(!askTheSame(open, first, second));
});

test("a form of a lane's own takes the place of the one that all have, and is one thing whichever field says it", () => {
  const open = series({}, { response_format: { type: "text" } }, { guided_choice: ["no"] });
  open.values.value = { guided_regex: "yes" };
  const [first, second, third] = open.lanes.value.map((lane) => requestFor(open, lane));
  assert.deepEqual([first.guided_regex, second.guided_regex, third.guided_regex], ["yes", undefined, undefined]);
  assert.deepEqual([Object.keys(second), third.guided_choice], [["messages"], ["no"]]);
  assert.deepEqual(varied(open), ["response_format"]);
});

test("to have none of what others have is a value too, and is not sent", () => {
  const open = series({}, { tools: [], stop: [], logit_bias: {} });
  open.values.value = { tools: [1], tool_choice: "auto", stop: ["a"], logit_bias: { 7: 1 } };
  const [first, second] = open.lanes.value.map((lane) => requestFor(open, lane));
  assert.deepEqual(Object.keys(first), ["messages", "tools", "tool_choice", "stop", "logit_bias"]);
  assert.deepEqual(Object.keys(second), ["messages"]);
  assert.deepEqual(varied(series({}, { tools: [], stop: [], system: "Be brief" })), []);
});

test("what is whole here is not taken back by a tab that has less, and what has more than that tab is not given up", async () => {
  const turn = (state, text) => ({ id: "t", conversation: "", parent: null, role: "assistant", text, reasoning: "", tools: [], state, request: { messages: [] }, model: "m", seed: 7, finish: null, failure: null, usage: null, timings: null, times: { sent: 1, first: 1, text: 1, last: 2 }, created: 1, v: 1 });
  const record = (state, text) => ({ id: "s", kind: "compare", title: "", prompt: "p", history: [], values: {}, lanes: [{ id: "a", prompt: "", values: {}, turn: turn(state, text) }], created: 1, updated: 1, v: 1 });
  const told = (state, text, isRunning) => ({ ...record(state, text), isRunning, since: 1, lanes: [{ id: "a", prompt: "", values: {}, turn: turn(state, text), isInLine: false, numPieces: 1 }] });
  const open = await Series.revive(record("DONE", "all of it"));
  const has = () => [open.lanes.value[0].turn.value.record.state, open.lanes.value[0].turn.value.record.text];
  for (const isRunning of [true, false]) {
    open.follow(told(isRunning ? "WRITING" : "CUT", "all", isRunning));
    assert.deepEqual(has(), ["DONE", "all of it"]);
  }
  assert.equal(open.isElsewhere.value, false);
  open.follow(told("DONE", "all of it", false));
  assert.deepEqual(has(), ["DONE", "all of it"]);
});

test("tasks are lines, or paragraphs where a line is empty", () => {
  assert.deepEqual(tasksIn("one\n two \n"), ["one", "two"]);
  assert.deepEqual(tasksIn("one\nmore of it\n\ntwo"), ["one\nmore of it", "two"]);
  assert.deepEqual(tasksIn(" \n"), []);
});

test("never more than there are slots work, and those that wait begin in their order", async () => {
  const slots = new Slots(2);
  const begun = [];
  const ends = [];
  let numAtOnce = 0;
  const work = (name) => async () => {
    begun.push(name);
    assert.ok(++numAtOnce <= 2);
    await new Promise((resolve) => ends.push(resolve));
    numAtOnce -= 1;
  };
  const all = ["a", "b", "c", "d"].map((name) => slots.use(work(name)));
  for (let turn = 0; turn < 4; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    ends.shift()?.();
  }
  await Promise.all(all);
  assert.deepEqual(begun, ["a", "b", "c", "d"]);
});

test("a lane that is stopped in line never asks", async () => {
  const lane = Lane.fresh({});
  lane.lineUp();
  lane.stop();
  await lane.run({ messages: [] });
  assert.equal(lane.turn.value, null);
});
