// Chats as files: what is written of them, and what a file would bring before it does.

import * as transfer from "../store/transfer.js";
import { Refused } from "../store/fields.js";
import { readFile } from "../store/incoming.js";
import { asMarkdown, fileName } from "../store/as-markdown.js";
import { tell } from "../store/tabs.js";
import { computed, signal } from "../vendor/signals-core.js";
import { list, open, take as hear } from "./chats.js";
import { NAMES } from "./offered.js";
import { keeping } from "./session.js";
import { path, turns } from "./tree.js";

/** A file as large as the page reads at once. */
const MAX_BYTES = 256_000_000;
/** Pieces are given to the browser when so much has come, which then may put them on its disk. */
const PIECE_CHARACTERS = 1_000_000;
/** So many chats come in before they are shown. */
const AT_ONCE = 100;

/** What was chosen to come in: still read, refused in words, or what it would change. */
export const incoming = signal(/** @type {{name: string, problem?: string, merges?: import("../store/transfer.js").Merge[], isTaking?: boolean} | null} */ (null));
export const summary = computed(() => summed(incoming.value?.merges ?? []));

// --- Actions

export async function exportAll() {
  const kept = (await keeping(transfer.readConversations)) ?? [];
  // Where there is no room, what is on the screen is newer than what is kept.
  const all = new Map([...kept, ...list.value].map((chat) => [chat.id, chat]));
  await download(`ignis-chats-${new Date().toISOString().slice(0, 10)}.json`, transfer.written([...all.values()], turnsOf));
}

/** How many chats this browser keeps, and in how many bytes, 0 where it does not say. */
export function measure() {
  return keeping(async () => {
    const [numChats, estimate] = await Promise.all([transfer.countConversations(), navigator.storage?.estimate?.()]);
    return { numChats, numBytes: numChats ? (estimate?.usage ?? 0) : 0 };
  });
}

/** The open chat with all its branches. */
export function exportChat() {
  return download(`${fileName(open.value.title)}.json`, transfer.written([open.value], turnsOf));
}

/** The shown branch of the open chat, up to that turn where one is given. @param {import("./turn.js").Turn} [last] */
export function exportBranch(last) {
  const branch = last ? path.value.slice(0, path.value.indexOf(last) + 1) : path.value;
  save(`${fileName(open.value.title)}.md`, new Blob([asMarkdown(open.value, branch.map((turn) => turn.record))], { type: "text/markdown" }));
}

/** Reads what is in a file; nothing is kept of it yet. @param {File} file */
export async function look(file) {
  const chosen = (incoming.value = { name: file.name });
  /** @type {typeof incoming.value} */
  let found;
  try {
    if (file.size > MAX_BYTES) throw new Refused(`It is larger than ${MAX_BYTES / 1e6} MB.`);
    const merges = await transfer.compared(readFile(await file.text(), NAMES));
    if (!merges.length) throw new Refused("This file has no chats in it.");
    found = { ...chosen, merges };
  } catch (error) {
    found = { ...chosen, problem: `Nothing was imported. ${inWords(error)}` };
  }
  // Another file may have been chosen meanwhile, or none.
  if (incoming.value === chosen) incoming.value = found;
}

/** Keeps what was looked at. Returns whether all of it is in. */
export async function take() {
  const chosen = incoming.value;
  if (!chosen?.merges || chosen.isTaking) return false;
  incoming.value = { ...chosen, isTaking: true };
  try {
    for (let from = 0; from < chosen.merges.length; from += AT_ONCE) await takeSome(chosen.merges.slice(from, from + AT_ONCE));
  } catch (error) {
    incoming.value = { name: chosen.name, problem: `Not all of it could be kept: ${inWords(error)}` };
    return false;
  }
  incoming.value = null;
  return true;
}

export function dismiss() {
  incoming.value = null;
}

// --- Internal

/** @param {import("../store/transfer.js").Merge[]} merges */
function summed(merges) {
  const sum = (/** @type {"numNew" | "numNewer" | "numKept"} */ name) => merges.reduce((total, merge) => total + merge[name], 0);
  return { numChats: merges.length, numKnown: merges.filter((merge) => merge.isKnown).length, numNew: sum("numNew"), numNewer: sum("numNewer"), numKept: sum("numKept") };
}

/** @param {unknown} error */
function inWords(error) {
  if (error instanceof Refused || error instanceof DOMException) return error.message;
  throw error;
}

/** @param {string} id */
async function turnsOf(id) {
  if (id === open.value.id) return [...turns.value.values()].map(({ record }) => transfer.cut(record));
  return transfer.readTurns(id);
}

/** @param {string} name @param {AsyncIterable<string>} text */
async function download(name, text) {
  /** @type {Blob[]} */
  const pieces = [];
  let piece = "";
  const shut = () => (pieces.push(new Blob([piece])), (piece = ""));
  const isWhole = await keeping(async () => {
    for await (const part of text) if ((piece += part).length > PIECE_CHARACTERS) shut();
    return true;
  });
  shut();
  if (isWhole) save(name, new Blob(pieces, { type: "application/json" }));
}

/** @param {string} name @param {Blob} content */
function save(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser reads it after the click has returned.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Keeps them, and shows what is kept by then, in other tabs too. @param {transfer.Merge[]} merges */
async function takeSome(merges) {
  /** @type {import("../store/tabs.js").Message[]} */
  const messages = [];
  try {
    for (const merge of merges) {
      await transfer.keep(merge);
      const { conversation: chat, turns: records } = merge;
      messages.push(records.length ? { kind: "turns", chat, records } : { kind: "chat", chat });
    }
  } finally {
    hear({ kind: "many", messages });
    tell({ kind: "many", messages });
  }
}
