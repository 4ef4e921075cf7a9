// What a message of a person is for the model: its text, the files in it, the pictures beside it.

/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */

/** @param {TurnRecord} record @returns {string | object[]} */
export function contentOf({ text, attachments = [] }) {
  const files = attachments.flatMap(({ name, text: inside }) => (inside === undefined ? [] : [`${name}:\n${fenced(inside)}`]));
  const words = [text, ...files].filter(Boolean).join("\n\n");
  const pictures = attachments.flatMap(({ url }) => (url ? [{ type: "image_url", image_url: { url } }] : []));
  if (!pictures.length) return words;
  return [...(words ? [{ type: "text", text: words }] : []), ...pictures];
}

/** In a fence that nothing in it closes. @param {string} text */
function fenced(text) {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}
