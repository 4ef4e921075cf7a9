// The few tags that a model may write: sub, sup and kbd in pairs and without attributes, br in a cell of a table.
// All other HTML stays text.

const TAG = /<(\/?)(sub|sup|kbd)>|<br *\/?>/gi;
// Deeper ones stay text: nobody writes them, and a tree of thousands of levels ends the tab.
const MAX_DEPTH = 4;

/**
 * A rule of the parser: cuts tags out of the text of each block.
 * @param {any} state
 */
export function readTags(state) {
  let before = "";
  for (const token of state.tokens) {
    if (token.type === "inline" && token.content.includes("<")) {
      token.children = withTags(token.children, before === "th_open" || before === "td_open", state.Token);
    }
    before = token.type;
  }
}

/** @param {any[]} children @param {boolean} isInCell @param {any} Token */
function withTags(children, isInCell, Token) {
  /** @type {any[]} */
  const found = [];
  for (const child of children) {
    if (child.type !== "text" || !child.content.includes("<")) found.push(child);
    else found.push(...cut(child, isInCell, Token));
  }
  pair(found);
  return found;
}

/** @param {any} text @param {boolean} isInCell @param {any} Token */
function cut(text, isInCell, Token) {
  /** @type {any[]} */
  const parts = [];
  let at = 0;
  const make = (/** @type {string} */ type, /** @type {string} */ tag, /** @type {string} */ content) => {
    const token = new Token(type, tag, 0);
    token.content = content;
    token.level = text.level;
    parts.push(token);
  };
  for (const match of text.content.matchAll(TAG)) {
    if (!match[2] && !isInCell) continue;
    if (match.index > at) make("text", "", text.content.slice(at, match.index));
    if (match[2]) make(match[1] ? "tag_close" : "tag_open", match[2].toLowerCase(), match[0]);
    else make("hardbreak", "br", "");
    at = match.index + match[0].length;
  }
  if (at < text.content.length) make("text", "", text.content.slice(at));
  return parts;
}

/** Tags that have their other half at the same depth open and close; the rest become text again. @param {any[]} tokens */
function pair(tokens) {
  /** @type {{token: any, depth: number}[]} */
  const waiting = [];
  let depth = 0;
  for (const token of tokens) {
    depth += token.nesting;
    // What was opened inside of an element that has ended has no other half any more.
    while (waiting.length && waiting[waiting.length - 1].depth > depth) waiting.pop();
    const top = waiting[waiting.length - 1];
    if (token.type === "tag_open" && waiting.length < MAX_DEPTH) waiting.push({ token, depth });
    else if (token.type === "tag_close" && top?.token.tag === token.tag && top.depth === depth) {
      waiting.pop();
      top.token.nesting = 1;
      token.nesting = -1;
    }
  }
  for (const token of tokens) if (token.type.startsWith("tag_") && token.nesting === 0) token.type = "text";
}
