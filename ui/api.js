// The one place that talks to the server, and the one that reads a stream. Every call can be aborted.

export class ApiError extends Error {
  constructor(message, status, code, retryAfter) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

export class Api {
  key = "";

  // --- Actions

  async models(signal) {
    return (await this.#fetch("/v1/models", { signal })).json();
  }

  async openapi(signal) {
    return (await this.#fetch("/v1/openapi.json", { signal })).json();
  }

  // Yields the parsed chunks of a streamed chat completion. Throws ApiError for an answer or an event that is an error,
  // and for a stream that breaks off.
  async *chat(body, signal) {
    const response = await this.#fetch("/v1/chat/completions", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
      signal,
    });
    for await (const data of readEvents(response.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ApiError(chunk.error.message, response.status, chunk.error.code);
      yield chunk;
    }
    throw new ApiError("The connection ended before the answer did", 0, "stream_cut");
  }

  // --- Internal

  async #fetch(path, options) {
    const headers = { ...options.headers };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError("The server does not answer", 0, "unreachable");
    }
    if (response.ok) return response;
    const { error } = await response.json().catch(() => ({}));
    const retryAfter = Number(response.headers.get("Retry-After")) || null;
    throw new ApiError(error?.message ?? `HTTP ${response.status}`, response.status, error?.code, retryAfter);
  }
}

// Yields the data of each server-sent event (WHATWG HTML, section 9.2.6); comment lines and other fields are passed over.
export async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
    }
  } finally {
    // Leaving early closes the connection, by which the server learns that nobody listens.
    reader.cancel().catch(() => {});
  }
}
