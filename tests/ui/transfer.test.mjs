// Chats as files: what is written is read again, what is newer here stays, what no page wrote is refused.

import assert from "node:assert/strict";
import { test } from "node:test";

import { asMarkdown, fileName } from "../../ui/store/as-markdown.js";
import { Refused } from "../../ui/store/fields.js";
import { readFile } from "../../ui/store/incoming.js";
import { compared, written } from "../../ui/store/transfer.js";

const PARAMETERS = new Set(["temperature", "seed"]);
const times = { sent: 1, thought: null, first: 2, text: 2, last: 3 };
const chat = (fields = {}) => ({ id: "chat-1", title: "Tides", head: "a1", settings: { model: "beta", system: "Be brief", sampling: { temperature: 0.5 } }, created: 1, updated: 9, preview: "Why", v: 1, ...fields });
const turn = (id, parent, fields = {}) => ({
  id, conversation: "chat-1", parent, role: parent ? "assistant" : "user", text: `text of ${id}`, reasoning: "", tools: [], state: "DONE",
  request: null, model: "m", seed: 7, finish: "stop", failure: null, usage: null, timings: null, times, isEdited: false, created: 5, v: 1, ...fields,
});
const question = turn("q1", null);
const asked = { messages: [{ role: "user", content: "text of q1" }] };
const answer = turn("a1", "q1", { usage: { prompt_tokens: 3, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 1 } }, request: { ...asked, seed: 7 }, logprobs: [["a", -0.1, [["b", -2]]]] });

const whole = async (chats, turns) => {
  let text = "";
  for await (const part of written(chats, async (id) => turns.filter((each) => each.conversation === id))) text += part;
  return text;
};
const file = (fields = {}) => JSON.stringify({ ignis_export: 1, conversations: [chat()], turns: [question, answer], ...fields });
const read = (text) => readFile(text, PARAMETERS);
const here = (conversation, turns) => async () => ({ conversation, turns });

test("what was written is read as it was", async () => {
  const second = chat({ id: "chat-2", head: null, title: "Empty", pinned: 7 });
  const picture = { name: "a.png", type: "image/png", size: 3, url: "data:image/png;base64,AAAA" };
  const asked = { ...question, attachments: [picture, { name: "n.txt", type: "text/plain", size: 1, text: "x" }] };
  const found = read(await whole([chat(), second], [asked, answer]));
  assert.deepEqual(found, { conversations: [chat(), second], turns: [asked, answer] });
  assert.deepEqual(read(await whole([], [])), { conversations: [], turns: [] });
});

test("what comes from a file is new, newer or left alone", async () => {
  const incoming = read(file());
  const [fresh] = await compared(incoming, here(undefined, []));
  assert.deepEqual([fresh.isKnown, fresh.numNew, fresh.numNewer, fresh.numKept, fresh.conversation.head], [false, 2, 0, 0, "a1"]);
  const [same] = await compared(incoming, here(chat(), [question, answer]));
  assert.deepEqual([same.isKnown, same.turns, same.numKept], [true, [], 2]);
});

test("nothing that is newer here is written over", async () => {
  const grown = { ...answer, text: "went on", times: { ...times, last: 1e6 } };
  const after = turn("q2", "a1", { role: "user" });
  const [merge] = await compared(read(file()), here(chat({ title: "Renamed", updated: 20, head: "q2" }), [question, grown, after]));
  assert.deepEqual([merge.turns, merge.conversation.title, merge.conversation.head], [[], "Renamed", "q2"]);
  // The other way about: the older one here gives way.
  const [back] = await compared(read(file({ turns: [question, grown] })), here(chat({ updated: 1 }), [question, answer]));
  assert.deepEqual([back.turns.map((each) => each.text), back.numNewer, back.conversation.updated], [["went on"], 1, 9]);
});

test("an answer that streams here is not touched", async () => {
  const newer = { ...answer, times: { ...times, last: 1e6 } };
  const [merge] = await compared(read(file({ turns: [question, newer] })), here(chat(), [question, { ...answer, state: "WRITING" }]));
  assert.deepEqual(merge.turns, []);
});

test("files that no page wrote are refused, and say where", () => {
  const cases = {
    "": /no JSON/,
    "[]": /no file of chats/,
    '{"a": 1}': /no file of chats/,
    [file({ ignis_export: 2 })]: /version 2; this page reads version 1/,
    [file({ conversations: {} })]: /“conversations” is no list/,
    [file({ turns: [null] })]: /turns\[0\] is no object/,
    [file({ turns: [{ ...question, text: 5 }] })]: /turns\[0\]\.text should be text, and is 5/,
    [file({ turns: [{ ...question, role: "system" }] })]: /turns\[0\]\.role should be user or assistant/,
    [file({ turns: [{ ...question, state: "WAITING" }] })]: /turns\[0\]\.state should be DONE/,
    [file({ turns: [{ ...question, id: "../x" }] })]: /turns\[0\]\.id should be an id/,
    [file({ turns: [{ ...question, conversation: "other" }] })]: /belongs to a chat that is not in the file/,
    [file({ turns: [question, question] })]: /same id twice/,
    [file({ turns: [{ ...question, attachments: [{ name: "x", type: "", size: 1, url: "https://example.test/x.png" }] }] })]: /url is no picture/,
    [file({ turns: [{ ...question, attachments: [{ name: "x", type: "", size: 1, url: "data:image/svg+xml;base64,AAAA" }] }] })]: /url is no picture/,
    [file({ turns: [{ ...question, tools: [{ name: "x", arguments: {} }] }] })]: /tools\[0\]\.arguments should be text/,
    [file({ turns: [{ ...answer, logprobs: [["a", "b", []]] }] })]: /logprobs is no list/,
    [file({ conversations: [chat({ updated: "now" })] })]: /conversations\[0\]\.updated should be a number/,
    [file({ conversations: [chat({ created: 1e300 })] })]: /conversations\[0\]\.created should be a number up to 1000000000000000, and is 1e\+300/,
    [file({ turns: [{ ...question, times: { ...times, last: -1e300 } }] })]: /times\.last should be a number/,
    [file({ conversations: [chat({ settings: [] })] })]: /settings is no object/,
  };
  for (const [text, words] of Object.entries(cases)) assert.throws(() => read(text), (error) => error instanceof Refused && words.test(error.message), text.slice(0, 200));
});

test("what is longer than any server or person writes it is refused, and says where", () => {
  const text = file({ conversations: [chat({ settings: { model: "a".repeat(200_000) } })] });
  const words = /^conversations\[0\]\.settings\.model should be text of at most \d+ letters, and is "a{10}/;
  assert.throws(() => read(text), (error) => error instanceof Refused && words.test(error.message) && error.message.length < 200);
  assert.equal(read(file({ conversations: [chat({ settings: { system: "a".repeat(200_000) } })] })).conversations[0].settings.system.length, 200_000);
});

test("a setting that is one of a few words is none but these", () => {
  const withSetting = (name, word) => file({ conversations: [chat({ settings: { tools: "", [name]: word } })] });
  const cases = {
    effort: ["none minimal low medium high xhigh max", "high ", "High", ""],
    format: ["json schema regex grammar choice", "weird", "text"],
    toolChoice: ["required none auto", "weather", {}],
  };
  for (const [name, [known, ...unknown]] of Object.entries(cases)) {
    // auto is what it is without a word.
    for (const word of known.split(" ")) assert.equal(read(withSetting(name, word)).conversations[0].settings[name], word === "auto" ? undefined : word);
    for (const word of [...unknown, "a".repeat(200_000)]) {
      const words = `conversations[0].settings.${name} should be ${known.split(" ").join(" or ")}, and is ${JSON.stringify(word).slice(0, 40)}.`;
      assert.throws(() => read(withSetting(name, word)), (error) => error instanceof Refused && error.message === words);
    }
  }
});

test("where tools are off, nothing of them is set", () => {
  const settingsOf = (settings) => read(file({ conversations: [chat({ settings })] })).conversations[0].settings;
  assert.deepEqual(settingsOf({ ownTools: true, toolChoice: "required" }), {});
  assert.deepEqual(settingsOf({ tools: "", ownTools: true }), { tools: "", ownTools: true });
});

test("one text to stop at is a list of one", () => {
  const stopsOf = (stop) => readFile(file({ conversations: [chat({ settings: { sampling: { stop } } })] }), new Set(["stop"])).conversations[0].settings.sampling.stop;
  assert.deepEqual([stopsOf("END"), stopsOf(["a", "b"])], [["END"], ["a", "b"]]);
});

test("a setting of a wrong kind is refused, and says where", () => {
  const names = new Set(["temperature", "seed", "stop", "logit_bias", "class", "parallel_tool_calls", "thinking_budget"]);
  const readAs = (sampling) => readFile(file({ conversations: [chat({ settings: { sampling } })] }), names).conversations[0].settings.sampling;
  const wrong = [
    ["stop", { a: 1 }, "text or a list of texts"], ["stop", [5], "text or a list of texts"], ["logit_bias", 5, "numbers by the ids of tokens"], ["logit_bias", ["a"], "numbers by the ids of tokens"],
    ["temperature", ["hot"], "a number"], ["seed", { a: 1 }, "a number of 64 bits"], ["thinking_budget", true, "a number"], ["parallel_tool_calls", "x", "true or false"], ["class", 5, "text"],
  ];
  for (const [name, value, wanted] of wrong) {
    const words = `conversations[0].settings.sampling.${name} should be ${wanted}, and is ${JSON.stringify(value)}.`;
    assert.throws(() => readAs({ [name]: value }), (error) => error instanceof Refused && error.message === words, words);
  }
  // As the page keeps what is typed and no number yet.
  const typed = { temperature: "1,5", logit_bias: '{"42"', seed: 1e300, class: "agent", parallel_tool_calls: false };
  assert.deepEqual(readAs({ ...typed, stop: null }), typed);
});

test("a request that no page sent is refused, and says where", () => {
  const readAs = (request) => read(file({ turns: [question, { ...answer, request: { ...asked, ...request } }] })).turns[1].request;
  const wrong = [
    ["stop", 5], ["tools", { a: 1 }], ["tools", [5]], ["guided_choice", 5], ["guided_choice", "a"], ["guided_regex", 5], ["guided_grammar", { a: 1 }], ["response_format", 5],
    ["response_format", { type: "json_schema", json_schema: 5 }], ["logit_bias", 5], ["logit_bias", '{"42"'], ["temperature", "hot"], ["seed", [1]], ["model", 5], ["tool_choice", 5], ["reasoning_effort", 5], ["system", 5],
    ["logprobs", "yes"], ["top_logprobs", {}], ["messages", []], ["tools", [{}]], ["tools", [{ type: "function", function: { description: "a" } }]], ["response_format", { type: 5 }], ["response_format", {}],
    ["n", -1], ["n", "2"], ["seed", 1e300],
  ];
  for (const [name, value] of wrong) {
    assert.throws(() => readAs({ [name]: value }), (error) => error instanceof Refused && error.message.startsWith(`turns[1].request.${name} should be `), `${name}: ${JSON.stringify(value)}`);
  }
  const says = [
    [{ role: "system", content: 5 }, "content should be text, and is 5"], [{ role: "system", content: [{ type: "text", text: "a" }] }, "content should be text"], [{ content: "a" }, "role should be text, and is missing"],
    [{ role: "user", content: [5, null] }, "content should be text or a list of parts"], [{ role: "assistant", content: null, tool_calls: 5 }, "tool_calls should be a list"],
    [{ role: "user", content: [{}] }, "content should be text or a list of parts"], [{ role: "user", content: [{ type: "text" }] }, "content should be"], [{ role: "user", content: [{ type: "image_url", image_url: 5 }] }, "content should be"],
    [{ role: "assistant", tool_calls: [{}] }, "tool_calls[0].function should be a function with its name and arguments, and is missing"], [{ role: "assistant", tool_calls: [{ function: { name: "a" } }] }, "tool_calls[0].function should be"],
  ];
  for (const [message, words] of says) assert.throws(() => readAs({ messages: [message] }), (error) => error instanceof Refused && error.message.startsWith(`turns[1].request.messages[0].${words}`), words);
  // What the API takes as well, and what a page of later may say.
  assert.deepEqual(readAs({ stop: "END", guided_regex: null, seed: 7, later: [{}] }), { ...asked, stop: ["END"], seed: 7, later: [{}] });
  const whole = { messages: [{ role: "system", content: "a" }, { role: "assistant", content: null, tool_calls: [{ id: "x", function: { name: "weather", arguments: "{}" } }] }, { role: "user", content: [{ type: "text", text: "a" }, { type: "image_url", image_url: { url: "data:," } }, { type: "later" }] }, { role: "tool", content: "b" }], guided_choice: ["a"], logit_bias: { 42: 1 }, tool_choice: { type: "function" } };
  assert.deepEqual(readAs(whole), whole);
});

test("fields that the page does not know stay outside", () => {
  const hostile = file({
    conversations: [{ ...chat(), extra: 1, settings: { sampling: { temperature: 1, messages: [], model: "x" }, other: 2 } }],
    turns: [{ ...question, onclick: "x", usage: "<b>", timings: { queued_ms: "x", total_ms: 4 } }],
  }).replace('"extra":1', '"__proto__":{"polluted":true},"extra":1');
  const { conversations, turns } = read(hostile);
  assert.deepEqual(conversations[0].settings, { sampling: { temperature: 1 } });
  assert(!("extra" in conversations[0]) && !("polluted" in conversations[0]) && !("onclick" in turns[0]));
  assert.deepEqual([turns[0].usage, turns[0].timings], [null, { total_ms: 4 }]);
});

test("what no server says of an answer stays outside", () => {
  const readAs = (fields) => read(file({ turns: [question, { ...answer, ...fields }] })).turns[1];
  assert.equal(readAs({ request: { messages: [null] } }).request, null);
  assert.equal(readAs({ usage: { prompt_tokens: 1e300, completion_tokens: 1 } }).usage, null);
  const usage = { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 1e300 } };
  assert.deepEqual(readAs({ usage }).usage.prompt_tokens_details, {});
  assert.equal(readAs({ finish: "x".repeat(5000) }).finish.length, 40);
  assert.equal(readAs({ state: "FAILED", failure: "x".repeat(5000) }).failure.length, 400);
  // A seed is larger than what is counted.
  assert.deepEqual([readAs({ seed: 2 ** 63 }).seed, readAs({ timings: { seed: 2 ** 63, queued_ms: 1e300 } }).timings], [2 ** 63, { seed: 2 ** 63 }]);
});

test("a chat has a name", () => {
  for (const title of ["", " \n "]) assert.equal(read(file({ conversations: [chat({ title })] })).conversations[0].title, "Without a title");
});

test("no chat was changed after now", () => {
  const { updated, created } = read(file({ conversations: [chat({ updated: 1e15, created: 1e15 })] })).conversations[0];
  assert(updated <= Date.now());
  assert.match(asMarkdown(chat({ created }), []), /created: "\+033658-/);
});

test("what is nested beyond all use is refused", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const text = file({ turns: [{ ...answer, request: { messages: "@" } }] }).replace('"@"', deep);
  assert.throws(() => read(text), (error) => error instanceof Refused && /nested/.test(error.message));
});

test("a tree that is none is refused", async () => {
  const loop = file({ turns: [turn("x", "y"), turn("y", "x")] });
  await assert.rejects(compared(read(loop), here(undefined, [])), /comes before itself/);
  // The other half of a loop may be here already.
  await assert.rejects(compared(read(file({ turns: [turn("x", "y")] })), here(chat(), [turn("y", "x")])), /comes before itself/);
});

test("a chat whose last turn is named, and that has none, is refused", async () => {
  const bare = read(file({ conversations: [chat({ head: "gone" })], turns: [] }));
  await assert.rejects(compared(bare, here(undefined, [])), /The chat “Tides” has a last turn, and none of its turns is in the file/);
  assert.equal((await compared(bare, here(chat(), [question])))[0].conversation.head, "q1");
});

test("a head that is not there becomes the newest turn", async () => {
  const [merge] = await compared(read(file({ conversations: [chat({ head: "gone" })] })), here(undefined, []));
  assert.equal(merge.conversation.head, "a1");
});

test("a branch as Markdown has its settings and seeds in front", () => {
  const call = { name: "wea_ther", arguments: '{"a": "```"}', result: "sunny" };
  const text = asMarkdown(chat({ title: 'A "quoted": title' }), [question, { ...answer, reasoning: "one\ntwo", tools: [call] }]);
  const [, front, body] = text.split("---\n");
  const fields = Object.fromEntries(front.trim().split("\n").map((line) => [line.split(": ")[0], JSON.parse(line.slice(line.indexOf(": ") + 2))]));
  assert.equal(fields.title, 'A "quoted": title');
  assert.deepEqual([fields.settings, fields.seeds, fields.models], [chat().settings, [7], ["m"]]);
  assert.match(body, /^\n## You\n\ntext of q1\n\n## Answer\n\n> one\n> two\n\ntext of a1\n\n\*Called wea\\_ther\*\n\n````json\n/);
  assert.match(body, /````\n\n```\nsunny\n```\n$/);
});

test("in a branch as Markdown no text closes the fence that is around it", () => {
  const call = { name: "run", arguments: "```", result: "a\n`````\nb" };
  const file = { name: "notes.md", type: "text/plain", size: 9, text: "```js\nx\n````\n" };
  const text = asMarkdown(chat(), [{ ...question, attachments: [file] }, { ...answer, tools: [call] }]);
  assert.match(text, /\n`````\n```js\nx\n````\n`````\n/);
  assert.match(text, /\n````json\n```\n````\n\n``````\na\n`````\nb\n``````\n$/);
});

test("a file's name has letters and figures only", () => {
  assert.equal(fileName("../Wärme & Licht?"), "Wärme-Licht");
  assert.equal(fileName("…"), "chat");
});
