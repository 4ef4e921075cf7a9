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
  const said = [...series.history.value, { role: "user", content: series.asked || series.prompt.value }];
  for (const [at, { role, content }] of said.entries()) {
    const kind = /** @type {"user" | "assistant"} */ (role);
    records.push({ ...recordOf(kind, id, records[at - 1]?.id ?? null, content, "DONE"), times: NO_TIMES, created: now + at });
  }
  const answer = lane.turn.value?.record;
  if (answer) records.push({ ...structuredClone(answer), id: newId(), conversation: id, parent: records[records.length - 1].id, created: now + said.length });
  const head = records[records.length - 1].id;
  const chat = { id, title: series.title.value, head, settings, created: now, updated: now, preview: said[said.length - 1].content.slice(0, 80), v: /** @type {1} */ (1) };
  await keeping(async () => {
    await conversations.save(chat);
    for (const record of records) await turns.save(record);
  });
  chats.value = [chat, ...chats.value];
  return id;
}
