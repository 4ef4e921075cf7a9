// A lane of a comparison taken further as a chat.

import * as conversations from "../store/conversations.js";
import * as turns from "../store/turns.js";
import { valuesOf } from "./asked.js";
import { list as chats } from "./chats.js";
import { newId } from "./ids.js";
import { keeping } from "./session.js";
import { settingsOf } from "./settings-of.js";
import { recordOf } from "./turn.js";

/** What a prompt has of them. */
const NO_TIMES = { sent: 0, thought: null, first: null, text: null, last: null };

/** Makes a chat of a lane. Returns the chat's id. @param {import("./series.js").Series} series @param {import("./lane.js").Lane} lane */
export async function toChat(series, lane) {
  const settings = settingsOf(valuesOf(series, lane));
  const id = newId();
  const now = Date.now();
  /** @type {import("../store/turns.js").TurnRecord[]} */
  const records = [];
  const answer = lane.turn.value?.record;
  // What it answers: another prompt may have been asked of other lanes since.
  const asked = answer?.request?.messages.at(-1 - series.after.length).content;
  const prompt = asked ? turnOf({ content: asked }).text : series.prompt.value;
  const calls = new Map();
  for (const message of [...series.history.value, { role: "user", content: prompt, attachments: series.pictures }, ...series.after]) {
    if (message.role === "tool") calls.get(message.tool_call_id).result = message.content;
    else {
      const record = { ...recordOf(message.role, id, records.at(-1)?.id ?? null, "", "DONE"), ...turnOf(message), times: NO_TIMES, created: now + records.length };
      message.tool_calls?.forEach((/** @type {any} */ call, /** @type {number} */ at) => calls.set(call.id, record.tools[at]));
      records.push(record);
    }
  }
  if (answer) records.push({ ...structuredClone(answer), id: newId(), conversation: id, parent: records[records.length - 1].id, created: now + records.length });
  const head = records[records.length - 1].id;
  const chat = { id, title: series.title.value, head, settings, created: now, updated: now, preview: prompt.slice(0, 80), v: /** @type {1} */ (1) };
  await keeping(async () => {
    await conversations.save(chat);
    for (const record of records) await turns.save(record);
  });
  chats.value = [chat, ...chats.value];
  return id;
}

// --- Internal

/** What a turn has of a message: content.js undone. @param {any} message @returns {Pick<import("../store/turns.js").TurnRecord, "text" | "reasoning" | "tools" | "attachments">} */
function turnOf({ content, attachments: own = [], reasoning_content: reasoning = "", tool_calls: calls = [] }) {
  const tools = calls.map((/** @type {any} */ call) => ({ name: call.function.name, arguments: call.function.arguments }));
  if (!Array.isArray(content)) return { text: content ?? "", reasoning, tools, ...(own.length && { attachments: own }) };
  const attachments = content.flatMap(({ image_url: picture }) => (picture ? [{ name: "Picture", type: picture.url.slice(5).split(";")[0], size: picture.url.length, url: picture.url }] : []));
  return { text: content.find(({ type }) => type === "text")?.text ?? "", reasoning, tools, attachments };
}
