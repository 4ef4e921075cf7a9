// What can go wrong between the page and the server, as one kind of error with the server's own words.

export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, code?: string | null, param?: string | null, retryAfterS?: number | null}} [about]
   *   status 0: there was no answer at all
   */
  constructor(message, { status = 0, code = null, param = null, retryAfterS = null } = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.param = param;
    this.retryAfterS = retryAfterS;
  }

  /** Whether the connection is what failed, and not the request. */
  get isLost() {
    return this.status === 0;
  }
}

/** @param {unknown} error */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}
