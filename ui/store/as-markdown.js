// A branch of a chat as a Markdown file: what was set and drawn with in its front matter, then the turns.

/** @typedef {import("./turns.js").TurnRecord} TurnRecord */

/**
 * @param {{id: string, title: string, settings: Record<string, any>, created: number}} conversation
 * @param {TurnRecord[]} turns of one branch, from its first
 */
export function asMarkdown({ id, title, settings, created }, turns) {
  const answers = turns.filter(({ role }) => role === "assistant");
  const models = [...new Set(answers.map(({ model }) => model).filter(Boolean))];
  // JSON is YAML too, and quotes whatever a title has in it.
  const front = {
    title, id, created: new Date(created).toISOString(), models, settings,
    seeds: answers.map(({ seed }) => seed),
  };
  const head = Object.entries(front).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `---\n${head.join("\n")}\n---\n\n${turns.map(turnOf).join("\n\n")}\n`;
}

/** Of letters that every file system takes. @param {string} title */
export function fileName(title) {
  const name = title.normalize("NFC").replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return name || "chat";
}

/** @param {TurnRecord} turn */
function turnOf({ role, text, reasoning, tools, attachments = [] }) {
  const parts = [role === "user" ? "## You" : "## Answer"];
  if (reasoning) parts.push(reasoning.trim().replace(/^/gm, "> "));
  parts.push(...attachments.map(({ name, text: inside }) => (inside === undefined ? `*Picture: ${plain(name)}*` : `*${plain(name)}*\n\n${fenced(inside, "")}`)));
  if (text) parts.push(text.trim());
  for (const call of tools) {
    parts.push(`*Called ${plain(call.name)}*\n\n${fenced(call.arguments, "json")}`);
    if (call.result !== undefined) parts.push(fenced(call.result, ""));
  }
  return parts.join("\n\n");
}

/** @param {string} text */
function plain(text) {
  return text.replace(/[\\`*_[\]<>]/g, "\\$&");
}

/** In a fence that nothing in it closes. @param {string} text @param {string} language */
function fenced(text, language) {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}
