// What an answer is held to and which tools it has: sent as it is meant, or refused in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { biasOf, choicesOf, problemOf, toolsOf } from "../../ui/state/held.js";

const table = (format, cases) => {
  for (const [text, words] of cases) {
    const said = problemOf(format, text);
    if (words) assert.match(said, words, text);
    else assert.equal(said, "", text);
  }
};

test("schemas are read as far as the page knows them", () =>
  table("schema", [
    ["", null],
    ['{"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"], "$defs": {"x": true}}', null],
    ['{"anyOf": [{"enum": [1]}, {"type": "array", "items": {"type": "integer"}}]}', null],
    ['{\n"a": 1,\n}', /^The schema is no JSON in line 3: /],
    ['{"type": "strin"}', /has the type "strin"; there are string, number/],
    ['{"properties": {"age": {"type": "int"}}}', /^“age” has the type "int"/],
    ['{"properties": []}', /“properties” is an object of schemas/],
    ['{"required": "a"}', /“required” is a list of names/],
    ['{"enum": []}', /“enum” is a list with something in it/],
    ['{"items": 3}', /“items” of The schema is neither an object/],
    ['{"oneOf": {}}', /“oneOf” is a list of schemas/],
    ["[]", /neither an object nor true or false/],
    ["true", null],
    ["false", /allows no answer/],
    ['{"items": false}', null],
  ]));

test("expressions that the server cannot hold to are known here", () =>
  table("regex", [
    ["[a-z]+(-[a-z]+)*", null],
    ["(?i)yes|no", null],
    ["[)(]\\(", null],
    ["[]a]", null],
    ["", /empty/],
    ["(a)\\1", /refers back/],
    ["a(?=b)", /looks around/],
    ["a(?<!b)", /looks around/],
    ["(a", /\( without its \)/],
    ["a)", /\) without its \(/],
    ["[a", /\[ without its \]/],
  ]));

test("a grammar has a beginning", () =>
  table("grammar", [
    ['root ::= "yes" | "no"', null],
    ['# a comment\nstart: "yes"', null],
    ["word ::= [a-z]+", /no beginning/],
    ["", /no beginning/],
  ]));

test("choices are lines, each once", () => {
  assert.deepEqual(choicesOf(" yes \n\nno\nyes"), ["yes", "no"]);
  table("choice", [["\n", /no answer to choose/]]);
});

test("tools are wrapped as the API has them", () => {
  const weather = { name: "weather", description: "of a city", parameters: { type: "object", properties: { city: { type: "string" } } } };
  const wrapped = [{ type: "function", function: weather }];
  assert.deepEqual(toolsOf(JSON.stringify([weather])), wrapped);
  assert.deepEqual(toolsOf(JSON.stringify(wrapped)), wrapped);
  assert.deepEqual(toolsOf(" "), []);
  table("tools", [
    ["{}", /no list/],
    ['[{"name": "a b"}]', /Tool 1 has no name/],
    ["[null]", /Tool 1 has no name/],
    ['[{"name": "a"}, {"name": "a"}]', /Tool 2 has the name of another one: a/],
    ['[{"name": "a", "parameters": {"type": "obj"}}]', /“parameters” of a has the type "obj"/],
    ["[", /The list of tools is no JSON/],
  ]);
});

test("a bias names tokens by their numbers", () => {
  assert.deepEqual(biasOf('{"42": -1.5}'), { 42: -1.5 });
  assert.equal(biasOf(""), undefined);
  for (const text of ['{"word": 1}', '{"4": "x"}', "[1]", "3"]) assert.throws(() => biasOf(text), SyntaxError, text);
});
