// Lines of a stream, states of a turn, branches of a chat.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Lines } from "../../ui/api/lines.js";
import { Replay } from "../../ui/state/replay.js";
import { deepest, pathTo, siblingsOf } from "../../ui/state/tree.js";
import { Turn } from "../../ui/state/turn.js";

const turn = (id, parent, created, state = "DONE") => new Turn({ id, parent, created, state });
const all = (...turns) => new Map(turns.map((each) => [each.id, each]));

test("lines are the same wherever the text is cut", () => {
  const text = "data: a\r\ndata: b\n\rdata: c\r\n\r\nend\n";
  const whole = new Lines().take(text);
  for (let at = 1; at < text.length; at += 1) {
    const lines = new Lines();
    assert.deepEqual([...lines.take(text.slice(0, at)), ...lines.take(text.slice(at))], whole, `cut at ${at}`);
  }
});

test("a turn moves by its table and by nothing else", () => {
  const answer = turn("a", null, 1, "SENT");
  for (const event of ["started", "reasoning", "text", "done"]) answer.advance(event);
  assert.equal(answer.state.value, "DONE");
  assert.throws(() => answer.advance("text"), /DONE cannot take text/);
  assert(!answer.isRunning);
});

test("going to a branch shows its newest end", () => {
  const turns = all(turn("q", null, 1), turn("old", "q", 2), turn("new", "q", 3), turn("next", "old", 4), turn("end", "next", 5));
  assert.deepEqual(siblingsOf(turns, turns.get("new")).map((each) => each.id), ["old", "new"]);
  assert.equal(deepest(turns, "old"), "end");
  assert.equal(deepest(turns, "q"), "new");
  assert.deepEqual(pathTo(turns, "end").map((each) => each.id), ["q", "old", "next", "end"]);
});

test("what is known of an answer is swallowed while it is equal", () => {
  const known = "The lighthouse stood";
  for (let size = 1; size < 30; size += 1) {
    const replay = new Replay(known, "thought");
    const whole = `${known} alone`;
    let fresh = "";
    assert.equal(replay.take("reasoning", "thoughts"), "s");
    for (let at = 0; at < whole.length; at += size) fresh += replay.take("text", whole.slice(at, at + size));
    assert.equal(fresh, " alone", `pieces of ${size}`);
    assert(!replay.isUnderWay && !replay.hasDiffered);
  }
});

test("an answer that comes out otherwise is known from where it differs", () => {
  const replay = new Replay("one two three", "");
  replay.take("text", "one ");
  replay.take("text", "too");
  assert(replay.hasDiffered);
  assert.deepEqual(replay.end(), { text: "one ", reasoning: "", word: 2 });
  assert.equal(replay.take("text", "more"), "more");
});

test("what another tab had of an answer is swallowed too, wherever the own one is", () => {
  const whole = "one two three four five";
  for (const before of ["", "one ", "one two three "]) {
    for (let came = 0; came < 16; came += 1) {
      const replay = new Replay(before, "");
      const has = { text: before + replay.take("text", whole.slice(0, came)), reasoning: "" };
      replay.learn(has, { text: "one two three four", reasoning: "" });
      assert(replay.isUnderWay);
      const fresh = [...whole.slice(came)].map((letter) => replay.take("text", letter)).join("");
      assert.equal(fresh, " five", `${before}, ${came} came`);
      assert(!replay.isUnderWay && !replay.hasDiffered);
    }
  }
});
