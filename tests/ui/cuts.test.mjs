// A long text is cut without being read, and its parts show what the whole shows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cut, mayDefine } from "../../ui/text/cuts.js";
import { parser } from "../../ui/text/markdown.js";
import { FRAGMENTS, numbers, shape } from "./fragments.mjs";

/** Fences and what looks like one, where it matters to what they belong. */
const FENCES = [
  "```", "~~~", "  ~~~", "  ```\ncode\n\nwords\n  ```", "   ```\n\n   x", "    ```\n\n    x", "````\n```\n\ninner\n````", "```a``` b", "`````foo```",
  "- a\n  ```\n  x\n\nout", "- ```\n\n  x\n```\n\nfoo", "1. Do\n\n   ```sh\n   ls\n\n   cd\n   ```\n\n2. Then", "1) x\n\n\ty\n\n\t```\n\n\tz", "> ```\n\nafter",
  "$$\nx\n```\ny", "$$ a $$\n```\nz", "\\[\n```\n\\]", "para\n```js\nx", "| a |\n|--|\n| b |\n```\nc", "[a]: /u\n'title\n```\nx", "~~~ ` x\n\nq\n\n~~~ \t",
  "   ```\n   a\n   ```", "  ```\n  a\n\n  b\n  ```", "- ```\n  a\n  ```\n  b\n  ```\n  c", "$$\n  ```\n\n  foo\n  ```", "   ```sh\n     ```\n   ```",
  " ```\n x\n  ```\n\nq", "1. x\n  ```\n  y\n\n  ```",
  "```\u2028\n\nx\n\n```\u2028", "-\n\n  late", "* * *", "\n\n",
];

test("what is cut is read as it would be whole", () => {
  const random = numbers(3);
  const from = [...FRAGMENTS, ...FENCES];
  let count = 0;
  for (let round = 0; round < 3000; round += 1) {
    const picked = Array.from({ length: 2 + Math.floor(random() * 9) }, () => from[Math.floor(random() * from.length)]);
    const text = picked.map((part) => part + (random() < 0.75 ? "\n\n" : "\n")).join("");
    const parts = cut(text, 1);
    assert.equal(parts.join(""), text);
    count += parts.length;
    const env = { references: {} };
    const whole = shape(parser.parse(text, env));
    assert.deepEqual(parts.flatMap((part) => shape(parser.parse(part, env))), whole, JSON.stringify(parts));
  }
  assert(count > 2 * 3000);
});

test("a part is not much longer than it must be", () => {
  const day = "## A day\n\nWords of a paragraph.\n\n1. Do:\n   ```sh\n   ls\n   ```\n2. Then\n\n```python\nx = 1\n\ny = 2\n```\n\n| a |\n|--|\n| 1 |\n\n$$\nx^2\n$$\n\n";
  const parts = cut(day.repeat(500), 2000);
  assert(Math.max(...parts.map(({ length }) => length)) < 2000 + day.length);
  assert(Math.min(...parts.slice(0, -1).map(({ length }) => length)) >= 2000);
  // What is one block is one part.
  assert.equal(cut(`\`\`\`\n${"code\n\n".repeat(9999)}`, 2000).length, 1);
  assert.equal(cut("- one\n\n".repeat(9999), 2000).length, 1);
});

test("a text that may define a link is known without being read", () => {
  for (const text of ["[a]: /b", "words\n\n> - 1. [a b\nc]: /d", "   [\\]]:\n/b"]) assert(mayDefine(text), text);
  for (const text of ["words", "rows[1:]: list[int]", "x = [\n  y[0]: 1", "a [link]: b"]) assert(!mayDefine(text), text);
});
