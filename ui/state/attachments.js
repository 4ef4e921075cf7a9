// The files beside the message that is being written: kept like its text, and turned into what a turn keeps of them.

import * as stored from "../store/drafts.js";
import { signal } from "../vendor/signals-core.js";
import { respondent } from "./respondent.js";
import { keeping, offerUndo } from "./session.js";

/**
 * @typedef {import("../store/drafts.js").KeptFile} KeptFile
 * @typedef {import("../store/turns.js").Attachment} Attachment
 */

const PICTURES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
const MAX_TEXT_BYTES = 4_000_000;
const MAX_PICTURE_BYTES = 20_000_000;
/** Text that is pasted and longer than this is a file. */
export const MAX_PASTED_LENGTH = 20_000;
export const PASTED = "Pasted text.txt";

/** Those of the open conversation. */
export const attached = signal(/** @type {KeptFile[]} */ ([]));
let shown = "";
/** Those whose message is on its way out: until then they are kept. @type {Set<string>} */
const leaving = new Set();

// --- Actions

/** @param {{type: string}} file */
export function isPicture(file) {
  return PICTURES.has(file.type);
}

/** Why the message cannot be sent with these files as they are; empty: it can. @param {KeptFile[]} files */
export function problemWith(files) {
  const model = respondent.value;
  const takesPictures = model?.capabilities?.vision ?? true;
  return files.some(isPicture) && !takesPictures ? `${model?.id ?? "The model"} takes no pictures` : "";
}

/** @param {string} conversation */
export async function show(conversation) {
  shown = conversation;
  attached.value = [];
  const found = (await keeping(() => stored.readFiles(conversation))) ?? [];
  if (shown !== conversation) return;
  // Some may have been attached meanwhile, and be among them or not.
  const ids = new Set(found.map((file) => file.id));
  attached.value = [...found.filter(({ id }) => !leaving.has(id)), ...attached.value.filter((file) => !ids.has(file.id))];
}

/** Returns what is wrong with those that were not taken. @param {string} conversation @param {File[]} files */
export async function attach(conversation, files) {
  /** @type {KeptFile[]} */
  const taken = [];
  const problems = [];
  for (const [index, file] of files.entries()) {
    const problem = await refusal(file);
    if (problem) problems.push(`${file.name}: ${problem}`);
    else taken.push({ id: `${conversation}/${Date.now().toString(36)}-${index.toString(36).padStart(4, "0")}`, name: file.name, type: file.type, size: file.size, blob: file });
  }
  if (shown === conversation) attached.value = [...attached.value, ...taken];
  await keeping(() => stored.saveFiles(taken));
  return problems.join("; ");
}

/** Takes it away for a person, who may take that back. @param {string} conversation @param {KeptFile} file */
export async function remove(conversation, file) {
  const at = attached.value.indexOf(file);
  await detach(file.id);
  offerUndo(`Removed ${file.name}`, async () => {
    if (shown === conversation) attached.value = attached.value.toSpliced(at, 0, file);
    await keeping(() => stored.saveFiles([file]));
  });
}

/** @param {string} id */
export async function detach(id) {
  attached.value = attached.value.filter((file) => file.id !== id);
  await keeping(() => stored.removeFiles([id]));
}

/** What a turn keeps of them. @param {KeptFile[]} files @returns {Promise<Attachment[]>} */
export function read(files) {
  return Promise.all(
    files.map(async ({ name, type, size, blob }) => {
      if (isPicture({ type })) return { name, type, size, url: await asAddress(blob) };
      return { name, type, size, text: await blob.text() };
    }),
  );
}

/** Their message is on its way: what is attached from now on is the next one's. @param {KeptFile[]} files */
export function sendOff(files) {
  for (const { id } of files) leaving.add(id);
  attached.value = attached.value.filter(({ id }) => !leaving.has(id));
}

/** They went out with their message. @param {KeptFile[]} files */
export async function letGo(files) {
  await keeping(() => stored.removeFiles(files.map(({ id }) => id)));
  for (const { id } of files) leaving.delete(id);
}

/** Their message did not go out. @param {string} conversation @param {KeptFile[]} files */
export function keepBack(conversation, files) {
  for (const { id } of files) leaving.delete(id);
  if (shown === conversation) attached.value = [...files, ...attached.value.filter((file) => !files.includes(file))];
}

// --- Internal

/** @param {File} file */
async function refusal(file) {
  if (isPicture(file)) {
    if (file.size > MAX_PICTURE_BYTES) return "larger than 20 MB";
    return (await isDrawn(file)) ? "" : "not a picture that can be read";
  }
  if (file.size > MAX_TEXT_BYTES) return "larger than 4 MB";
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? "neither a picture nor text" : "";
  } catch {
    return "neither a picture nor text";
  }
}

/** Whether the browser makes a picture of it: its kind is told by its name alone. @param {Blob} blob @returns {Promise<boolean>} */
function isDrawn(blob) {
  return new Promise((resolve) => {
    const image = new Image();
    const end = (/** @type {boolean} */ isGood) => (URL.revokeObjectURL(image.src), resolve(isGood));
    image.onload = () => end(true);
    image.onerror = () => end(false);
    image.src = URL.createObjectURL(blob);
  });
}

/** @param {Blob} blob @returns {Promise<string>} */
function asAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
