// Pieces of text that interact badly, and what tests of how they are read share.

export const FRAGMENTS = [
  "Plain words of a sentence.", "two lines\nof one paragraph", "# Heading", "Setext\n===", "- one\n- two", "- one\n\n  more of it\n- two",
  "1. first\n2. second\n   - inner", "> quote\nlazy", "> - item in a quote", "```python\nx = 1\n\ny = 2\n```", "~~~\ntilde\n~~~", "    indented\n\n    code",
  "| a | b |\n|--|--|\n| 1 | 2 |", "---", "$$\nx^2\n$$", "\\[\na = b\n\\]", "A price of $5 and $6.", "- ```\n  in a list\n  ```", "[named]: https://example.org",
  "**bold** and `code`", "* star\n+ plus\n- minus", "\tx", "Line with break  \nnext",
];

/** Numbers from 0 to 1 that are the same each time (mulberry32). */
export function numbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What is read of a text. */
export const shape = (tokens) => tokens.map((token) => [token.type, token.tag, token.content, token.info, token.markup, token.hidden]);
