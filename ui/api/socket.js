// The only WebSocket of the page: responses on streams of one connection, as many beside each other as are asked for.
// A browser gives an origin six connections over HTTP/1.1; eight lanes and all else of the page need more.

import { client } from "./client.js";
import { ApiError } from "./errors.js";

const OPEN_MS = 4000;
// The server keeps a stream's name for the life of the connection, and has 32 of them.
const NUM_STREAMS = 16;
const ENDS = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);
const LOST = "previous_response_not_found";

/** There is no WebSocket to be had: the same can be asked over HTTP. */
export class NoSocketError extends Error {}

/** @typedef {{role: string, content: string}[]} Said */
/** @typedef {{input: Said} & Record<string, any>} ResponseBody */
/** @typedef {{messages: any[], wake: () => void, isOwed: boolean, isRead: boolean}} Stream isOwed: the server has still to end it; isRead:
 *   somebody still reads it */

class Socket {
  /** @type {Promise<WebSocket> | null} */
  #opening = null;
  #key = "";
  /** @type {Map<string, Stream>} */
  #streams = new Map();
  /** The last response of each stream, which the server keeps for this connection, with all that was said up to its end. @type {Map<string, {id: string, said: Said}>} */
  #last = new Map();
  #names = Array.from({ length: NUM_STREAMS }, (_, at) => `page-${at}`);
  /** @type {((name: string) => void)[]} */
  #line = [];

  /**
   * Yields the server's events of one response, the last of them included. Raises NoSocketError where nothing was sent,
   * an ApiError where the connection breaks, and the signal's reason. What goes on from the last response of a stream is
   * asked on it, and says only what is new.
   * @param {ResponseBody} body without a stream @param {AbortSignal} signal
   * @returns {AsyncGenerator<any>}
   */
  async *respond(body, signal) {
    const socket = await unlessStopped(this.#open(), signal);
    const name = this.#nameFor(body.input) ?? (await this.#nextName(signal));
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
      const ask = (/** @type {object} */ what) => {
        stream.isOwed = true;
        socket.send(JSON.stringify({ ...what, type: "response.create", stream_id: name, store: false }));
      };
      const last = this.#last.get(name);
      this.#last.delete(name);
      let isShort = Boolean(last && isBegunBy(body.input, last.said));
      ask(isShort && last ? { ...body, previous_response_id: last.id, input: body.input.slice(last.said.length) } : body);
      for (;;) {
        signal.throwIfAborted();
        if (!stream.messages.length) {
          if (socket.readyState !== WebSocket.OPEN) throw this.#cut();
          await new Promise((resolve) => (stream.wake = () => resolve(undefined)));
          continue;
        }
        const message = stream.messages.shift();
        if (isShort && message.type === "error" && message.error.code === LOST) {
          isShort = false;
          ask(body);
          continue;
        }
        if (ENDS.has(message.type)) this.#note(name, body.input, message.response);
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

  /** A stream that is free: the one that this goes on from, else that which was not used for longest. @param {Said} input @returns {string | undefined} */
  #nameFor(input) {
    const at = this.#names.findIndex((name) => isBegunBy(input, this.#last.get(name)?.said));
    return this.#names.splice(Math.max(0, at), 1)[0];
  }

  /** The next stream that gets free. @param {AbortSignal} signal */
  async #nextName(signal) {
    const next = new Promise((/** @type {(name: string) => void} */ resolve) => this.#line.push(resolve));
    try {
      return await unlessStopped(next, signal);
    } catch (error) {
      // It may still be given to who has left.
      next.then((name) => this.#release(name));
      throw error;
    }
  }

  /**
   * Keeps what a response said, where the page will say it in the same way: an answer that was thought about has its
   * thoughts at the server, and none in the page's history.
   * @param {string} name @param {Said} input @param {any} response
   */
  #note(name, input, response) {
    const [item, ...others] = response?.output ?? [];
    if (others.length || item?.type !== "message" || item.content.length !== 1 || response.status === "failed") return;
    this.#last.set(name, { id: response.id, said: [...input, { role: "assistant", content: item.content[0].text }] });
  }

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
        this.#last.clear();
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

/** Whether that is how it begins, and there is more in it, but no answer of another stream. @param {Said} input @param {Said} [said] */
function isBegunBy(input, said) {
  if (said === undefined || said.length >= input.length) return false;
  return input.every(({ role, content }, at) => (at < said.length ? said[at].role === role && said[at].content === content : role !== "assistant"));
}

/** What comes of it; raises the signal's reason where that is earlier. @template T @param {Promise<T>} coming @param {AbortSignal} signal @returns {Promise<T>} */
function unlessStopped(coming, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    coming.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

export const socket = new Socket();
