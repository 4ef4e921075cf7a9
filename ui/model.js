// Which model the server has, shown in the bar: asked for until one serves.

const PAUSE_MS = 1000;

export class ModelStatus {
  id = null;
  #api;
  #element = document.getElementById("model");
  #name = document.getElementById("model-name");
  #watching = null; // AbortController of the watch under way

  // --- Lifecycle

  constructor(api) {
    this.#api = api;
  }

  // --- Actions

  // Asks anew, once a key or an answer has changed what is known.
  async watch() {
    this.#watching?.abort();
    const controller = (this.#watching = new AbortController());
    while (!controller.signal.aborted && !(await this.#isSettled(controller.signal))) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  // --- Internal

  async #isSettled(signal) {
    try {
      const models = await this.#api.models(signal);
      this.id = models.data[0]?.id ?? null;
      const state = models.status ?? "serving";
      this.#show(state, this.id && (state === "serving" ? this.id : `${this.id}: ${state}`));
      // One that is unloaded waits for the next question.
      return state === "serving" || state === "unloaded";
    } catch (error) {
      if (error.name === "AbortError") return true;
      const isLocked = error.status === 401;
      this.#show(isLocked ? "locked" : "away", isLocked ? "needs a key" : error.message);
      return isLocked;
    }
  }

  #show(state, text) {
    this.#element.dataset.state = state;
    this.#name.textContent = text ?? state;
  }
}
