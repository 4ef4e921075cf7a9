// The only WebSocket of the page: responses on streams of one connection, as many beside each other as are asked for.
// A browser gives an origin six connections over HTTP/1.1; eight lanes and all else of the page need more.

import { client } from "./client.js";
import { ApiError } from "./errors.js";

const OPEN_MS = 4000;
// The server keeps a stream's name for the life of the connection, and has 32 of them.
const NUM_STREAMS = 16;
const ENDS = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);

/** There is no WebSocket to be had: the same can be asked over HTTP. */
export class NoSocketError extends Error {}

/** @typedef {{messages: any[], wake: () => void, isOwed: boolean, isRead: boolean}} Stream isOwed: the server has still to end it; isRead:
 *   somebody still reads it */

class Socket {
  /** @type {Promise<WebSocket> | null} */
  #opening = null;
  #key = "";
  /** @type {Map<string, Stream>} */
  #streams = new Map();
  #names = Array.from({ length: NUM_STREAMS }, (_, at) => `page-${at}`);
  /** @type {((name: string) => void)[]} */
  #line = [];

  /**
   * Yields the server's events of one response, the last of them included. Raises NoSocketError where nothing was sent,
   * an ApiError where the connection breaks, and the signal's reason.
   * @param {object} body of a response, without a stream @param {AbortSignal} signal
   * @returns {AsyncGenerator<any>}
   */
  async *respond(body, signal) {
    const socket = await this.#open();
    const name = this.#names.pop() ?? (await new Promise((/** @type {(name: string) => void} */ resolve) => this.#line.push(resolve)));
    /** @type {Stream} */
    const stream = { messages: [], wake: () => {}, isOwed: false, isRead: true };
    this.#streams.set(name, stream);
    const stop = () => {
      if (stream.isOwed && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "response.cancel", stream_id: name }));
      stream.wake();
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      signal.throwIfAborted();
      stream.isOwed = true;
      socket.send(JSON.stringify({ ...body, type: "response.create", stream_id: name, store: false }));
      for (;;) {
        signal.throwIfAborted();
        if (!stream.messages.length) {
          if (socket.readyState !== WebSocket.OPEN) throw this.#cut();
          await new Promise((resolve) => (stream.wake = () => resolve(undefined)));
          continue;
        }
        const message = stream.messages.shift();
        yield message;
        if (ENDS.has(message.type)) return;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      stream.isRead = false;
      // What was cancelled has an end of its own, and the name is free with it.
      if (!stream.isOwed || socket.readyState !== WebSocket.OPEN) this.#release(name);
    }
  }

  // --- Internal

  #open() {
    if (this.#opening && this.#key !== client.key) this.#opening.then((socket) => socket.close(), () => {});
    if (this.#key !== client.key) this.#opening = null;
    this.#key = client.key;
    return (this.#opening ??= this.#connect());
  }

  /** @returns {Promise<WebSocket>} */
  #connect() {
    return new Promise((resolve, reject) => {
      const refuse = () => {
        this.#opening = null;
        reject(new NoSocketError());
      };
      let socket;
      try {
        const address = new URL("/v1/responses", location.href);
        address.protocol = address.protocol.replace("http", "ws");
        socket = new WebSocket(address, this.#key ? ["ignis", `openai-insecure-api-key.${this.#key}`] : []);
      } catch {
        // A key of letters that no subprotocol may have.
        return refuse();
      }
      const made = socket;
      const timer = setTimeout(() => made.close(), OPEN_MS);
      made.onopen = () => (clearTimeout(timer), resolve(made));
      made.onmessage = ({ data }) => this.#take(JSON.parse(data));
      made.onclose = () => {
        clearTimeout(timer);
        refuse();
        for (const [name, stream] of this.#streams) {
          if (stream.isRead) stream.wake();
          else this.#release(name);
        }
      };
    });
  }

  /** @param {any} message */
  #take(message) {
    const stream = this.#streams.get(message.stream_id);
    if (!stream) return;
    stream.messages.push(message);
    if (ENDS.has(message.type)) stream.isOwed = false;
    if (!stream.isOwed && !stream.isRead) this.#release(message.stream_id);
    stream.wake();
  }

  /** @param {string} name */
  #release(name) {
    this.#streams.delete(name);
    const next = this.#line.shift();
    if (next) next(name);
    else this.#names.push(name);
  }

  #cut() {
    client.lost();
    return new ApiError("The connection ended before the answer did", { code: "stream_cut" });
  }
}

export const socket = new Socket();
