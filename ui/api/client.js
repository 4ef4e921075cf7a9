// The only fetch of the page: adds the key, turns a refusal into an ApiError, tells of contact and of a lost connection.

import { ApiError, isAbort } from "./errors.js";

class Client {
  #key = "";
  /** Counts up with each word of a person about the key. */
  #words = 0;
  /** @type {(hasContact: boolean) => void} */
  #onContact = () => {};
  #onRefusedKey = () => {};

  // --- Lifecycle

  /** @param {{onContact: (hasContact: boolean) => void, onRefusedKey: () => void}} listeners */
  listen({ onContact, onRefusedKey }) {
    this.#onContact = onContact;
    this.#onRefusedKey = onRefusedKey;
  }

  // --- Actions

  /** What a connection that is no fetch needs to say; "" where there is none. */
  get key() {
    return this.#key;
  }

  /** @param {string} key */
  useKey(key) {
    this.#key = key;
    this.settleKey();
  }

  /** A person has decided about the key: a refusal of what was asked before says nothing new. */
  settleKey() {
    this.#words += 1;
  }

  /**
   * @param {string} path @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async get(path, signal) {
    return read((await this.open(path, { signal })).json());
  }

  /**
   * @param {string} path @param {unknown} body @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async post(path, body, signal) {
    return read((await this.openPost(path, body, signal)).json());
  }

  /** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
  openPost(path, body, signal) {
    const headers = { "Content-Type": "application/json" };
    return this.open(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  /**
   * @param {string} path @param {unknown} body @param {HeadersInit} [more]
   * @returns {Promise<any>}
   */
  async patch(path, body, more = {}) {
    const headers = { "Content-Type": "application/json", ...more };
    return read((await this.open(path, { method: "PATCH", headers, body: JSON.stringify(body) })).json());
  }

  /** As open, with all of the body. @param {string} path @param {AbortSignal} [signal] @param {boolean} [isAside] */
  async text(path, signal, isAside) {
    return read((await this.open(path, { signal }, isAside)).text());
  }

  /**
   * Returns an answer that is no refusal; its body is unread.
   * @param {string} path @param {RequestInit} [options] @param {boolean} [isAside] nobody waits for it: a lost connection
   *   is left to be met by what somebody does
   */
  async open(path, options = {}, isAside = false) {
    const headers = new Headers(options.headers);
    if (this.#key) headers.set("Authorization", `Bearer ${this.#key}`);
    const words = this.#words;
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (isAbort(error)) throw error;
      if (!isAside) this.#onContact(false);
      throw new ApiError("The server does not answer", { code: "unreachable" });
    }
    this.#onContact(true);
    if (response.ok) return response;
    if (response.status === 401 && words === this.#words) this.#onRefusedKey();
    throw await refusal(response);
  }

  /** A stream broke off: as good as no answer. */
  lost() {
    this.#onContact(false);
  }
}

/** A body that breaks off, or takes longer than its signal waits, is no answer. @template T @param {Promise<T>} body */
async function read(body) {
  try {
    return await body;
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("The server's answer broke off", { code: "unreachable" });
  }
}

/** @param {Response} response */
async function refusal(response) {
  const { error } = await response.json().catch(() => ({}));
  return new ApiError(error?.message ?? `HTTP ${response.status}`, {
    status: response.status,
    code: error?.code ?? null,
    param: error?.param ?? null,
    retryAfterS: Number(response.headers.get("Retry-After")) || null,
  });
}

export const client = new Client();

/** Returns after so long, or at once when it is aborted. @param {number} ms @param {AbortSignal} aborted */
export function pause(ms, aborted) {
  return new Promise((resolve) => {
    if (aborted.aborted) return resolve(undefined);
    const end = () => {
      clearTimeout(timer);
      aborted.removeEventListener("abort", end);
      resolve(undefined);
    };
    const timer = setTimeout(end, ms);
    aborted.addEventListener("abort", end);
  });
}
