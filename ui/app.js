// The chat page: the conversation, one answer at a time, and what the server is.

import { Api, ApiError } from "./api.js";
import { MessageView } from "./message.js";
import { ModelStatus } from "./model.js";
import { Settings } from "./settings.js";

class Chat {
  #api = new Api();
  #model = new ModelStatus(this.#api);
  #settings;
  #messages = []; // { role, content } of every finished turn
  #views = [];
  #running = null; // AbortController of the answer under way
  #log = document.getElementById("log");
  #scroll = document.getElementById("scroll");
  #prompt = document.getElementById("prompt");
  #send = document.getElementById("send");
  #stop = document.getElementById("stop");
  #welcome = document.getElementById("welcome");
  #template = document.getElementById("message-template");
  #isPinned = true;

  // --- Lifecycle

  start() {
    this.#settings = new Settings({ onKey: (key) => this.#useKey(key) });
    this.#api.key = this.#settings.key;
    document.getElementById("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#prompt.addEventListener("input", () => this.#fitPrompt());
    this.#prompt.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      if (this.#running) this.#running.abort();
      else this.#settings.closeOverlay();
    });
    this.#stop.addEventListener("click", () => this.#running?.abort());
    document.getElementById("new-chat").addEventListener("click", () => this.#clear());
    document.getElementById("suggestions").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.#ask(button.textContent);
    });
    this.#scroll.addEventListener("scroll", () => (this.#isPinned = this.#isAtEnd()), { passive: true });
    this.#log.addEventListener("grown", () => this.#follow());
    this.#model.watch();
    // Meanwhile the model may have been unloaded, or another client may have asked for another one.
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#model.watch();
    });
    this.#api.openapi().then((document) => this.#settings.takeRanges(document), () => {});
  }

  // --- Actions

  #submit() {
    const text = this.#prompt.value.trim();
    if (!text || this.#running) return;
    this.#prompt.value = "";
    this.#fitPrompt();
    this.#ask(text);
  }

  #ask(text) {
    if (this.#running) return;
    this.#messages.push({ role: "user", content: text });
    const view = this.#addView("user");
    view.append(text);
    view.finish();
    this.#answer();
  }

  async #answer() {
    const view = this.#addView("assistant", { onAgain: () => this.#again(view) });
    const controller = new AbortController();
    this.#setRunning(controller);
    view.start();
    this.#isPinned = true;
    this.#follow();
    const measured = { firstMs: null, tokensPerSecond: null, tokens: null, promptTokens: 0, cachedTokens: 0, reason: null };
    try {
      await this.#stream(view, controller.signal, measured);
    } catch (error) {
      if (error.name === "AbortError") measured.reason = "stopped";
      else if (error instanceof ApiError && error.status === 401) this.#askKey(view, error);
      else if (error instanceof ApiError) this.#showError(view, error);
      else view.showFailure(`This page failed: ${error.message}`);
    } finally {
      view.finish();
      view.showReadout(measured);
      view.offerAgain(true);
      if (view.text) this.#messages.push({ role: "assistant", content: view.text });
      this.#setRunning(null);
      this.#follow();
    }
  }

  #again(view) {
    if (this.#running) return;
    view.remove();
    this.#views = this.#views.filter((other) => other !== view);
    if (this.#messages.at(-1)?.role === "assistant") this.#messages.pop();
    this.#answer();
  }

  #clear() {
    this.#running?.abort();
    this.#messages = [];
    this.#views = [];
    this.#log.replaceChildren();
    this.#welcome.hidden = false;
    this.#prompt.focus();
  }

  // --- Internal

  async #stream(view, signal, measured) {
    const system = this.#settings.system;
    const messages = system ? [{ role: "system", content: system }, ...this.#messages] : this.#messages;
    const body = { messages, ...this.#settings.sampling };
    if (this.#model.id) body.model = this.#model.id;
    const startMs = performance.now();
    let firstAt = null;
    let lastAt = null;
    for await (const chunk of this.#api.chat(body, signal)) {
      const choice = chunk.choices?.[0];
      const { content, reasoning_content: reasoning } = choice?.delta ?? {};
      if (content || reasoning) {
        lastAt = performance.now();
        firstAt ??= lastAt;
        measured.firstMs = firstAt - startMs;
        if (reasoning) view.appendReasoning(reasoning);
        if (content) view.append(content);
      }
      if (choice?.finish_reason) measured.reason = choice.finish_reason;
      if (chunk.usage) {
        measured.tokens = chunk.usage.completion_tokens;
        measured.promptTokens = chunk.usage.prompt_tokens;
        measured.cachedTokens = chunk.usage.prompt_tokens_details?.cached_tokens ?? 0;
      }
    }
    if (measured.tokens > 1 && lastAt > firstAt) measured.tokensPerSecond = ((measured.tokens - 1) * 1000) / (lastAt - firstAt);
  }

  #addView(role, actions) {
    this.#welcome.hidden = true;
    this.#views.at(-1)?.offerAgain(false);
    const view = new MessageView(this.#template, this.#log, role, actions);
    this.#views.push(view);
    return view;
  }

  #setRunning(controller) {
    this.#running = controller;
    const isRunning = controller !== null;
    // The focus moves along with the button that it is on, so that the keyboard can go on.
    const hadFocus = document.activeElement === this.#send || document.activeElement === this.#stop;
    this.#send.hidden = isRunning;
    this.#stop.hidden = !isRunning;
    if (hadFocus) (isRunning ? this.#stop : this.#prompt).focus();
    this.#fitPrompt();
  }

  #showError(view, error) {
    view.showFailure(error.retryAfter ? `${error.message}; try again in ${error.retryAfter} s` : error.message);
    if (error.status === 0 || error.status === 503) this.#model.watch();
  }

  async #askKey(view, error) {
    view.showFailure(error.message);
    const dialog = document.getElementById("key-dialog");
    document.getElementById("key-reason").textContent = this.#settings.key ? "It does not accept the one you gave." : "";
    const input = document.getElementById("key-input");
    input.value = "";
    dialog.showModal();
    await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
    if (dialog.returnValue !== "use") return;
    this.#settings.setKey(input.value.trim());
    this.#again(view);
  }

  #useKey(key) {
    this.#api.key = key;
    this.#model.watch();
  }

  #fitPrompt() {
    this.#prompt.style.height = "auto";
    this.#prompt.style.height = `${this.#prompt.scrollHeight}px`;
    this.#send.disabled = !this.#prompt.value.trim();
  }

  #isAtEnd() {
    return this.#scroll.scrollHeight - this.#scroll.scrollTop - this.#scroll.clientHeight < 48;
  }

  #follow() {
    if (this.#isPinned) this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }
}

new Chat().start();
