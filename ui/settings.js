// What the user set: kept in the browser, the API key in this tab only. A value that is unset is not sent.

const STORE = "ignis.settings";
const KEY_STORE = "ignis.key";
const isWide = () => matchMedia("(min-width: 60rem)").matches;

export class Settings {
  #panel = document.getElementById("settings");
  #toggle = document.getElementById("settings-toggle");
  #system = document.getElementById("system");
  #temperature = document.getElementById("temperature");
  #temperatureValue = document.getElementById("temperature-value");
  #temperatureReset = document.getElementById("temperature-reset");
  #maxTokens = document.getElementById("max-tokens");
  #key = document.getElementById("key");
  #themeName = document.getElementById("theme-name");
  #values = { system: "", temperature: null, maxTokens: null, theme: "auto", isOpen: false };
  #onKey;

  // --- Lifecycle

  constructor({ onKey }) {
    this.#onKey = onKey;
    try {
      this.#values = { ...this.#values, ...JSON.parse(localStorage.getItem(STORE) ?? "{}") };
    } catch {
      // What an older page left is no reason not to start.
    }
    this.#system.value = this.#values.system;
    this.#maxTokens.value = this.#values.maxTokens ?? "";
    this.#key.value = sessionStorage.getItem(KEY_STORE) ?? "";
    this.#toggle.addEventListener("click", () => this.#open(this.#panel.hidden));
    this.#system.addEventListener("input", () => this.#keep({ system: this.#system.value }));
    this.#temperature.addEventListener("input", () => this.#setTemperature(this.#temperature.valueAsNumber));
    this.#temperatureReset.addEventListener("click", () => this.#setTemperature(null));
    this.#maxTokens.addEventListener("input", () => {
      const tokens = this.#maxTokens.valueAsNumber;
      this.#keep({ maxTokens: Number.isInteger(tokens) && tokens > 0 ? tokens : null });
    });
    this.#key.addEventListener("change", () => this.setKey(this.#key.value.trim()));
    document.getElementById("theme").addEventListener("click", () => this.#nextTheme());
    this.#setTemperature(this.#values.temperature);
    this.#showTheme();
    this.#open(this.#values.isOpen && isWide());
  }

  // --- Actions

  // The fields of a chat completion request that the user decided.
  get sampling() {
    const fields = {};
    if (this.#values.temperature !== null) fields.temperature = this.#values.temperature;
    if (this.#values.maxTokens !== null) fields.max_completion_tokens = this.#values.maxTokens;
    return fields;
  }

  get system() {
    return this.#values.system.trim();
  }

  get key() {
    return this.#key.value.trim();
  }

  setKey(key) {
    this.#key.value = key;
    sessionStorage.setItem(KEY_STORE, key);
    this.#onKey(key);
  }

  // Where there is no room beside the conversation, the panel lies over it and can be put away.
  closeOverlay() {
    if (this.#panel.hidden || isWide()) return;
    this.#open(false);
    this.#toggle.focus();
  }

  // Takes the ranges from the server's own description; the page's are a guess until it comes.
  takeRanges(openapi) {
    const body = openapi.paths?.["/v1/chat/completions"]?.post?.requestBody?.content?.["application/json"]?.schema;
    const schema = this.#resolve(openapi, body);
    const temperature = this.#resolve(openapi, schema?.properties?.temperature);
    const range = temperature?.anyOf?.find((option) => option.type === "number") ?? temperature;
    if (range?.minimum !== undefined) this.#temperature.min = range.minimum;
    if (range?.maximum !== undefined) this.#temperature.max = range.maximum;
  }

  // --- Internal

  #resolve(openapi, schema) {
    const name = schema?.$ref?.split("/").pop();
    return name ? openapi.components?.schemas?.[name] : schema;
  }

  #keep(changes) {
    Object.assign(this.#values, changes);
    localStorage.setItem(STORE, JSON.stringify(this.#values));
  }

  #open(isOpen) {
    this.#panel.hidden = !isOpen;
    this.#toggle.setAttribute("aria-expanded", String(isOpen));
    this.#keep({ isOpen });
  }

  #setTemperature(temperature) {
    this.#keep({ temperature });
    if (temperature !== null) this.#temperature.value = temperature;
    this.#temperature.classList.toggle("unset", temperature === null);
    this.#temperatureReset.hidden = temperature === null;
    this.#temperatureValue.textContent = temperature === null ? "model's default" : temperature.toFixed(2);
  }

  #nextTheme() {
    this.#keep({ theme: { auto: "light", light: "dark", dark: "auto" }[this.#values.theme] ?? "auto" });
    this.#showTheme();
  }

  #showTheme() {
    document.documentElement.dataset.theme = this.#values.theme;
    this.#themeName.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[this.#values.theme];
  }
}
