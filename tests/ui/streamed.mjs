// What a server would send, for modules that read it: a stream in pieces, and a clock that goes on by one step a piece.

import { after, beforeEach, mock } from "node:test";

const STEP_MS = 100;

// What a page has and Node has not, or has otherwise: a channel between tabs must not keep the process alive.
const Channel = globalThis.BroadcastChannel;
globalThis.BroadcastChannel = class extends Channel {
  constructor(name) {
    super(name);
    this.unref();
  }
};

let ms = 0;
const now = mock.method(performance, "now", () => ms);
after(() => now.mock.restore());
beforeEach(() => {
  ms = 0;
});

/** Each piece is read before the next one is made. An Error in place of a piece breaks the stream. @param {(string | Uint8Array | Error)[]} pieces */
export function streamOf(pieces, { isOpen = false, onCancel = () => {} } = {}) {
  const left = [...pieces];
  const pull = (controller) => {
    ms += STEP_MS;
    const piece = left.shift();
    if (piece instanceof Error) controller.error(piece);
    else if (piece !== undefined) controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    else if (!isOpen) controller.close();
    // One that stays open has nothing more to say.
    else return new Promise(() => {});
  };
  return new ReadableStream({ pull, cancel: onCancel }, { highWaterMark: 0 });
}

/** The next answers of the server, one a request. Returns the bodies that were asked with. @param {((signal: AbortSignal) => Response)[]} answers */
export function served(...answers) {
  const asked = [];
  globalThis.fetch = async (_, { method, body, signal }) => {
    // What the page looks at beside it: which models there are.
    if (method !== "POST") return new Promise(() => {});
    asked.push(JSON.parse(body));
    const answer = answers.shift();
    if (!answer) throw new TypeError("nobody is there");
    return answer(signal);
  };
  return asked;
}

/** @param {object} delta @param {object} [more] */
export const chunk = (delta, more = {}) => `data: ${JSON.stringify({ model: "m", choices: [{ delta, ...more }] })}\n\n`;
/** @param {string[]} words */
export const texts = (...words) => words.map((content) => chunk({ content }));
/** @param {number} tokens */
export const ending = (tokens, reason = "stop") => [
  chunk({}, { finish_reason: reason }) + `data: ${JSON.stringify({ model: "m", choices: [], usage: { completion_tokens: tokens }, timings: { queued_ms: 0 } })}\n\ndata: [DONE]\n\n`,
];

/** A completion in those pieces. @param {(string | Error)[]} pieces */
export const completion = (pieces, options) => (signal) => {
  const stream = streamOf(pieces, options);
  if (!options?.isOpen) return new Response(stream);
  // As fetch has it: an abort breaks the body.
  const breaking = new TransformStream();
  stream.pipeTo(breaking.writable, { signal }).catch(() => {});
  return new Response(breaking.readable);
};
