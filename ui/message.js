// One message of the conversation on the page. Text is shown as text; only fenced code gets a box of its own.

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

const MAY_BE_FENCE = /^[ \t]*(`{0,2}|```[^`]*)$/;
const OPENING = /^[ \t]*```[^`]*$/;
const CLOSING = /^[ \t]*```+\s*$/;

export class MessageView {
  #element;
  #text = ""; // all that was shown
  #node; // the text node that grows: of the prose, or of the code block that is open
  #line = null; // the start of a line that may become a fence, held back until it is one or not; null within a line
  #hasFences;
  #isCode = false;
  #pending = "";
  #pendingReasoning = "";
  #isScheduled = false;

  // --- Lifecycle

  constructor(template, log, role, { onAgain } = {}) {
    this.#element = template.content.firstElementChild.cloneNode(true);
    this.#element.classList.add(role);
    this.#find(".author").textContent = role === "user" ? "You" : "Model";
    this.#node = this.#find(".text").appendChild(document.createTextNode(""));
    this.#hasFences = role !== "user";
    if (this.#hasFences) this.#line = "";
    this.#find(".copy").addEventListener("click", () => this.#copy());
    this.#find(".again").addEventListener("click", () => onAgain?.());
    log.append(this.#element);
  }

  remove() {
    this.#element.remove();
  }

  // --- Actions

  // Adds text; a burst of tokens costs one layout, on the next frame.
  append(text) {
    this.#pending += text;
    this.#schedule();
  }

  appendReasoning(text) {
    this.#pendingReasoning += text;
    this.#schedule();
  }

  start() {
    this.#element.classList.add("running");
    this.#element.setAttribute("aria-busy", "true");
  }

  finish() {
    this.#flush();
    if (this.#line) this.#endLine();
    this.#find(".copy").hidden = !this.text;
    this.#element.classList.remove("running");
    this.#element.removeAttribute("aria-busy");
  }

  showReadout({ firstMs, tokensPerSecond, tokens, promptTokens, cachedTokens, reason }) {
    const parts = [];
    if (firstMs !== null) parts.push(`first token ${seconds(firstMs)}`);
    if (tokensPerSecond) parts.push(`${tokensPerSecond.toFixed(tokensPerSecond < 10 ? 1 : 0)} tok/s`);
    if (tokens !== null) parts.push(`${tokens} ${tokens === 1 ? "token" : "tokens"}`);
    if (promptTokens) parts.push(`prompt ${promptTokens}${cachedTokens ? ` (${cachedTokens} cached)` : ""}`);
    if (reason && reason !== "stop") parts.push(reason === "length" ? "cut at the longest answer" : reason);
    this.#find(".readout").textContent = parts.join(" · ");
  }

  showFailure(text) {
    const failure = this.#find(".failure");
    failure.textContent = text;
    failure.hidden = false;
    this.#element.classList.add("failed");
  }

  offerAgain(isOffered) {
    this.#find(".again").hidden = !isOffered;
  }

  get text() {
    return this.#text + this.#pending;
  }

  // --- Internal

  #find(selector) {
    return this.#element.querySelector(selector);
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => this.#flush());
  }

  #flush() {
    this.#isScheduled = false;
    if (this.#pendingReasoning) {
      const reasoning = this.#find(".reasoning");
      reasoning.hidden = false;
      reasoning.lastElementChild.append(this.#pendingReasoning);
      this.#pendingReasoning = "";
      if (!this.#pending) this.#element.dispatchEvent(new CustomEvent("grown", { bubbles: true }));
    }
    if (!this.#pending) return;
    this.#text += this.#pending;
    this.#show(this.#pending);
    this.#pending = "";
    this.#element.dispatchEvent(new CustomEvent("grown", { bubbles: true }));
  }

  // A line that begins like a fence waits for its end; everything else is shown as it comes.
  #show(text) {
    for (const part of text.split(/(?<=\n)/)) {
      const isWhole = part.endsWith("\n");
      if (this.#line === null) {
        this.#node.appendData(part);
        if (isWhole && this.#hasFences) this.#line = "";
        continue;
      }
      this.#line += part;
      if (isWhole) this.#endLine();
      else if (!MAY_BE_FENCE.test(this.#line)) {
        this.#node.appendData(this.#line);
        this.#line = null;
      }
    }
  }

  #endLine() {
    const isFence = (this.#isCode ? CLOSING : OPENING).test(this.#line);
    if (!isFence) this.#node.appendData(this.#line);
    else {
      this.#isCode = !this.#isCode;
      const place = this.#find(".text");
      const box = this.#isCode ? place.appendChild(document.createElement("pre")).appendChild(document.createElement("code")) : place;
      this.#node = box.appendChild(document.createTextNode(""));
    }
    this.#line = "";
  }

  async #copy() {
    const button = this.#find(".copy");
    try {
      await navigator.clipboard.writeText(this.text);
      button.textContent = "Copied";
    } catch {
      // Without a secure context there is no clipboard; the selected text can be copied by hand.
      getSelection().selectAllChildren(this.#find(".text"));
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }
}
