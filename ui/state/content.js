// What a turn is for the model: its text, the files in it, the pictures beside it, its calls of tools with their results.

/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */

/** A turn as the history of a request has it: what was said, what was called, and what came of each call. @param {TurnRecord} record @returns {any[]} */
export function messagesOf(record) {
  const { id, role, text, reasoning, attachments } = record;
  const calls = record.tools.map((call, at) => ({ ...call, name: nameOf(call), id: `${id.slice(0, 12)}-${at}`, flaw: flawIn(call) })).filter(({ flaw, result }) => !flaw || result !== undefined);
  if (!calls.length) return text || attachments?.length ? [{ role, content: contentOf(record) }] : [];
  // The arguments of a call must be an object: what is none is told in one.
  const asked = calls.map(({ id: call, name, arguments: words, flaw }) => ({ id: call, type: "function", function: { name, arguments: flaw ? JSON.stringify({ malformed: words }) : words || "{}" } }));
  const results = calls.filter(({ result }) => result !== undefined).map((call) => ({ role: "tool", tool_call_id: call.id, name: call.name, content: call.result }));
  return [{ role, content: text || null, ...(reasoning && { reasoning_content: reasoning }), tool_calls: asked }, ...results];
}

/** What a call is called, where it names no tool too. @param {import("../store/turns.js").ToolCall} call */
export function nameOf({ name }) {
  return name || "tool";
}

/** Whether a call was written to its end. @param {import("../store/turns.js").ToolCall} call */
export function isWhole(call) {
  return !flawIn(call);
}

/** Why a call cannot be done, in words; "" where it can. @param {import("../store/turns.js").ToolCall} call */
export function flawIn({ name, arguments: words }) {
  if (!name) return "The call names no tool.";
  try {
    const value = JSON.parse(words || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? "" : "The arguments are no JSON object.";
  } catch (error) {
    return `The arguments are no JSON: ${/** @type {Error} */ (error).message}`;
  }
}

/** @param {Pick<TurnRecord, "text" | "attachments">} record @returns {string | object[]} */
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
