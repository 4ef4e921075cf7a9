// Streams of events and lines of metrics are read the same however they are cut, and what is malformed in them is left out.

import assert from "node:assert/strict";
import { test } from "node:test";

import { parse, readKey } from "../../ui/api/exposition.js";
import { Lines, readEvents } from "../../ui/api/lines.js";
import { streamOf } from "./streamed.mjs";

async function eventsOf(...pieces) {
  const found = [];
  for await (const data of readEvents(streamOf(pieces))) found.push(data);
  return found;
}
const bytes = (text) => new TextEncoder().encode(text);

test("events are the same wherever their bytes are cut, a character among them too", async () => {
  const whole = bytes(": hello\ndata: Köln €😀\r\ndata: two\r\n\r\nevent: x\rid: 3\rdata:three\r\rdata\ndata:  four\n\ndata: last\n\n");
  const expected = ["Köln €😀\ntwo", "three", " four", "last"];
  assert.deepEqual(await eventsOf(whole), expected);
  for (let at = 1; at < whole.length; at += 1) assert.deepEqual(await eventsOf(whole.slice(0, at), whole.slice(at)), expected, `cut at ${at}`);
  assert.deepEqual(await eventsOf(...Array.from(whole, (byte) => Uint8Array.of(byte))), expected, "byte by byte");
});

test("an event that is not ended, and one without data, is none", async () => {
  assert.deepEqual(await eventsOf("data: whole\n\ndata: half"), ["whole"]);
  assert.deepEqual(await eventsOf("data: whole\n\ndata: half\n"), ["whole"]);
  assert.deepEqual(await eventsOf("\n\n: keep-alive\n\nevent: x\n\nretry: 5\n\n"), []);
  assert.deepEqual(await eventsOf(), []);
  assert.deepEqual(await eventsOf("data:\n\n"), [""]);
});

test("who leaves early closes the connection, and one that breaks says so", async () => {
  let isClosed = false;
  for await (const data of readEvents(streamOf(["data: one\n\n", "data: two\n\n"], { onCancel: () => (isClosed = true) }))) {
    assert.equal(data, "one");
    break;
  }
  assert.ok(isClosed);
  const read = [];
  await assert.rejects(async () => {
    for await (const data of readEvents(streamOf(["data: one\n\ndata: tw", new TypeError("network error")]))) read.push(data);
  }, /network error/);
  assert.deepEqual(read, ["one"]);
});

test("a line waits for its end, and a carriage return for what follows it", () => {
  const lines = new Lines();
  assert.deepEqual(lines.take("a"), []);
  assert.deepEqual(lines.take("b\r"), []);
  assert.deepEqual(lines.take("\nc\n\nd\re"), ["ab", "c", "", "d"]);
  assert.deepEqual(lines.take(""), []);
  assert.deepEqual(lines.take("\r\r"), ["e"]);
});

test("lines that are none of the format's are left out, and those around them stay", () => {
  const malformed = [
    "no_value", "no_value ", "a{b=\"open} 1", 'a{b="c"', 'a{b="c"}', 'a{b="c"} ', 'a{b="c"} one', 'a{b="c\\"} 1', " 1", "{", "}", '"', "=",
    "hex 0x10", "binary 0b1", "under 1_000", "two 1.2.3", "comma 1,5", "e 1e", "sign +-1", "far Infinit", "late 1 soon", "more 1 2 3", "#", "# HELP", "# TYPE",
  ];
  for (const line of malformed) {
    const { values } = parse(`first 1\n${line}\nlast 2\n`);
    assert.deepEqual([...values], [["first", 1], ["last", 2]], JSON.stringify(line));
  }
  assert.deepEqual(parse("").values.size, 0);
});

test("all forms of a number are read, and the last of a series stands", () => {
  const { values } = parse("a 1\na 2\nb -0.5e-3\nc +Inf\nd -Inf\ne NaN\nf .5\ng 1.\nh 12 1700000000000\ni 3 -1\nj inf\nk 1e+06");
  assert.deepEqual([...values], [
    ["a", 2], ["b", -0.0005], ["c", Infinity], ["d", -Infinity], ["e", NaN], ["f", 0.5], ["g", 1], ["h", 12], ["i", 3], ["j", Infinity], ["k", 1e6],
  ]);
});

test("a text with CR LF, and one cut in its last line, is read as far as it goes", () => {
  assert.deepEqual([...parse('# TYPE a gauge\r\na 1\r\nb{c="d"} 2\r\n').values], [["a", 1], ['b{c="d"}', 2]]);
  assert.equal(parse("# TYPE a gauge\r\na 1\r\n").families.get("a")?.kind, "gauge");
  assert.deepEqual([...parse('a 1\nb{c="d').values], [["a", 1]]);
});

test("a key is taken apart as far as it is one", () => {
  assert.deepEqual({ ...readKey('a{b="1",c="x,y",d=""}').labels }, { b: "1", c: "x,y", d: "" });
  assert.deepEqual({ ...readKey("a{}").labels }, {});
  assert.deepEqual({ ...readKey("a{b=1}").labels }, {});
});
