// One message of the conversation on the page. Text is shown as text.

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

export class MessageView {
  #element;
  #text;
  #pending = "";
  #isScheduled = false;

  // --- Lifecycle

  constructor(template, log, role, { onAgain } = {}) {
    this.#element = template.content.firstElementChild.cloneNode(true);
    this.#element.classList.add(role);
    this.#find(".author").textContent = role === "user" ? "You" : "Model";
    this.#text = this.#find(".text").appendChild(document.createTextNode(""));
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
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => this.#flush());
  }

  start() {
    this.#element.classList.add("running");
    this.#element.setAttribute("aria-busy", "true");
  }

  finish() {
    this.#flush();
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
    return this.#text.data + this.#pending;
  }

  // --- Internal

  #find(selector) {
    return this.#element.querySelector(selector);
  }

  #flush() {
    this.#isScheduled = false;
    if (!this.#pending) return;
    this.#text.appendData(this.#pending);
    this.#pending = "";
    this.#element.dispatchEvent(new CustomEvent("grown", { bubbles: true }));
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
