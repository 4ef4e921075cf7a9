// What a tab that runs lanes tells the others: little after the first time, and they have all of it all the same.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { chunk, served, texts } from "./streamed.mjs";

const { Lane } = await import("../../ui/state/lane.js");
const { Series } = await import("../../ui/state/series.js");
const { hear } = await import("../../ui/store/tabs.js");

const TELL_MS = 500;
const PROMPT = "Say it. ".repeat(2000);

/** What is said between tabs, as another tab hears it. @param {any} test */
function overheard(test) {
  const channel = new BroadcastChannel("ignis");
  channel.ref();
  test.after(() => channel.close());
  const said = [];
  let heard = () => {};
  channel.onmessage = ({ data }) => (said.push(data), heard());
  return { said, say: (message) => channel.postMessage(message), next: () => new Promise((resolve) => (heard = resolve)) };
}

/** An answer that comes as it is written to. */
function written() {
  let to;
  const body = new ReadableStream({ start: (controller) => (to = controller) });
  const write = (...pieces) => pieces.forEach((piece) => to.enqueue(new TextEncoder().encode(piece)));
  const answer = (signal) => (signal.addEventListener("abort", () => to.error(signal.reason)), new Response(body));
  return { answer, write, end: () => (write(chunk({}, { finish_reason: "stop" }), "data: [DONE]\n\n"), to.close()) };
}

/** Two lanes that run, the time of their telling stopped. @param {any} test */
async function running(test) {
  let tell = () => {};
  const every = mock.method(globalThis, "setInterval", (work, ms) => void (ms === TELL_MS && (tell = work)));
  test.after(() => every.mock.restore());
  const tabs = overheard(test);
  const answers = [written(), written()];
  served(...answers.map(({ answer }) => answer));
  const lanes = [Lane.fresh({ seed: 1 }), Lane.fresh({ seed: 2 })];
  const series = Series.fresh("compare", { prompt: PROMPT, values: { n: 1 } }, lanes);
  const record = structuredClone(series.toRecord());
  const first = tabs.next();
  const end = series.run([lanes], ({ values }) => ({ messages: [{ role: "user", content: PROMPT }], n: 1, ...values.value }));
  await first;
  /** Writes to the lanes, and returns once the others were told. */
  const tick = async (...words) => {
    answers.forEach(({ write }, at) => words[at] && write(...texts(words[at])));
    const hasRead = ({ turn }, at) => !words[at] || turn.value?.record.text.endsWith(words[at]);
    while (!lanes.every(hasRead)) await new Promise((resolve) => setImmediate(resolve));
    const next = tabs.next();
    tell();
    await next;
  };
  const finish = async () => {
    answers.forEach(({ end }) => end());
    await end;
    while (tabs.said.at(-1).record.isRunning !== false) await new Promise((resolve) => setImmediate(resolve));
  };
  return { ...tabs, series, lanes, record, tick, finish, end };
}

const size = (message) => JSON.stringify(message).length;
const has = (series) => ({
  ...structuredClone({ asked: series.asked, values: series.values.value, isElsewhere: series.isElsewhere.value }),
  lanes: series.lanes.value.map((lane) => structuredClone({ ...lane.whole(), isInLine: lane.isInLine.value, numPieces: lane.numPieces })),
});

/** A tab that looks on. */
function onlooker(record) {
  const series = new Series(record, []);
  const take = ({ kind, record: told }) => {
    if (kind === "mine") series.follow(structuredClone(told));
    else if (kind === "news") series.followNews(structuredClone(told));
  };
  return { series, take };
}

test("a long run is told once, and then what is new of it; who looks on has all of it at each time", async (t) => {
  const { said, series, record, tick, finish } = await running(t);
  const other = onlooker(record);
  let numTaken = 0;
  for (let round = 0; round < 40; round++) {
    // The second lane stands still half of the time, and what it asks is set anew meanwhile.
    await tick(`a${round} `, round % 2 ? `b${round} ` : "");
    if (round === 20) series.lanes.value[1].values.value = { seed: 3 };
    if (round === 30) series.values.value = { n: 1, temperature: 0 };
    said.slice(numTaken).forEach(other.take);
    numTaken = said.length;
    if (round !== 20 && round !== 30) assert.deepEqual(has(other.series), { ...has(series), isElsewhere: true });
  }
  assert.match(series.lanes.value[0].turn.value.record.text, /^a0 .* a39 $/);
  // Each lane's request, which has the prompt, and the prompt.
  const whole = 3 * PROMPT.length;
  const all = said.reduce((total, message) => total + size(message), 0);
  assert.ok(all < 2 * whole, `${all} of at most ${2 * whole}`);
  assert.ok(said.length >= 40);
  // Of the lane that stands still nothing is told but that it is there.
  await tick("more");
  assert.deepEqual(said.at(-1).record.lanes.map((lane) => Object.keys(lane)), [["id", "isInLine", "numPieces", "turn"], ["id"]]);
  await finish();
  said.slice(numTaken).forEach(other.take);
  assert.deepEqual(has(other.series), { ...has(series), isElsewhere: false });
  assert.equal(other.series.lanes.value[0].turn.value.record.state, "DONE");
});

test("who asks, and who has said something else of the run, is told all of it", async (t) => {
  const { said, say, next, series, record, tick, finish } = await running(t);
  await tick("one ");
  await tick("two ");
  assert.deepEqual(said.slice(-2).map(({ kind }) => kind), ["news", "news"]);
  const answered = next();
  say({ kind: "who", turn: series.id });
  await answered;
  assert.equal(said.at(-1).kind, "mine");
  assert.deepEqual(said.at(-1).record.lanes, has(series).lanes);
  await tick("three ");
  assert.equal(said.at(-1).kind, "news");
  // One that opens it now has heard nothing but that: it asks.
  const late = onlooker(record);
  const asked = next();
  late.take(said.at(-1));
  await asked;
  assert.deepEqual(said.at(-1), { kind: "who", turn: series.id });
  const heard = new Promise(hear);
  say({ kind: "news", turn: series.id, record: { since: 1, lanes: [] } });
  await heard;
  await tick("four ");
  await tick("five ");
  assert.deepEqual(said.slice(-2).map(({ kind }) => kind), ["mine", "news"]);
  said.slice(-2).forEach(late.take);
  assert.deepEqual(has(late.series), { ...has(series), isElsewhere: true });
  await finish();
  late.take(said.at(-1));
  assert.deepEqual(has(late.series), { ...has(series), isElsewhere: false });
});

test("what is asked for here is given up to a tab that asked before and has all of it, and to no other", async (t) => {
  const { series, lanes, tick, end } = await running(t);
  await tick("one ", "two ");
  const told = (text) => {
    const { title, prompt, values, lanes } = structuredClone(series.toRecord());
    const toldLanes = lanes.map((lane, at) => ({ ...lane, turn: { ...lane.turn, text: text[at] }, isInLine: false, numPieces: 2 }));
    return { title, prompt, values, lanes: toldLanes, isRunning: true, since: 1 };
  };
  for (const less of [["one ", "tw"], ["one ", "other "], ["", "two "]]) {
    series.follow(told(less));
    assert.equal(series.isElsewhere.value, false);
    assert.deepEqual(lanes.map((lane) => [lane.isRunning, lane.turn.value.record.text]), [[true, "one "], [true, "two "]]);
  }
  series.follow({ ...told(["one more", "two more"]), since: Date.now() + 1 });
  assert.equal(series.isElsewhere.value, false);
  series.follow(told(["one more", "two more"]));
  assert.equal(series.isElsewhere.value, true);
  assert.deepEqual(series.lanes.value.map((lane) => lane.turn.value.record.text), ["one more", "two more"]);
  // Its silence would be asked about.
  series.follow({ ...told(["one more", "two more"]), isRunning: false });
  await end;
});

test("what is whole here is told to a tab that ended with less of it", { timeout: 10_000 }, async (t) => {
  const { series, lanes, said, tick, finish, next } = await running(t);
  await tick("one ", "two ");
  const cut = structuredClone(said[0].record);
  cut.lanes = structuredClone(lanes.map((lane) => ({ ...lane.whole(), isInLine: false, numPieces: 1 })));
  for (const { turn } of cut.lanes) Object.assign(turn, { text: "o", state: "CUT" });
  await finish();
  const answered = next();
  series.follow({ ...cut, isRunning: false });
  await answered;
  const { kind, record } = said.at(-1);
  assert.deepEqual([kind, ...record.lanes.map(({ turn }) => [turn.state, turn.text])], ["mine", ["DONE", "one "], ["DONE", "two "]]);
});
