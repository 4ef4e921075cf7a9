// The only reader of a stream: server-sent events, as WHATWG HTML section 9.2.6 has them.

import { client } from "./client.js";

/**
 * Yields the data of each event; comments and other fields are passed over. Leaving early closes the connection, by
 * which the server learns that nobody listens.
 * @param {ReadableStream<Uint8Array>} stream
 */
export async function* readEvents(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const lines = new Lines();
  /** @type {string[]} */
  let data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      for (const line of lines.take(decoder.decode(value, { stream: true }))) {
        if (line === "") {
          if (data.length) yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Cuts text that comes in pieces into whole lines that end in CR LF, LF or CR. */
export class Lines {
  #rest = "";

  /** @param {string} text */
  take(text) {
    // A CR at the very end may be half of a CR LF, and waits.
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines;
  }
}

/** What a route sends, as it comes, until the server ends. @param {string} path @param {AbortSignal} signal @returns {AsyncGenerator<any>} */
export async function* follow(path, signal) {
  const response = await client.open(path, { signal });
  try {
    for await (const data of readEvents(/** @type {ReadableStream<Uint8Array>} */ (response.body))) yield JSON.parse(data);
  } catch (error) {
    // A TypeError is how a browser says that the connection broke while its body was read.
    if (!(error instanceof TypeError)) throw error;
  }
}
