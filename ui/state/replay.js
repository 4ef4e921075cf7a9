// An answer that is asked for once more after it was cut: what is known of it already is swallowed while it is equal.

export class Replay {
  #known;
  #at = { text: 0, reasoning: 0 };
  /** Whether something came that is not what is known. */
  hasDiffered = false;

  /** @param {string} text @param {string} reasoning */
  constructor(text, reasoning) {
    this.#known = { text, reasoning };
  }

  // --- Actions

  /** Whether less came than is known. */
  get isUnderWay() {
    return this.#at.reasoning < this.#known.reasoning.length || this.#at.text < this.#known.text.length;
  }

  /** Returns what of it is new. @param {"text" | "reasoning"} channel @param {string} text */
  take(channel, text) {
    const known = this.#known[channel];
    const at = this.#at[channel];
    if (at >= known.length) return text;
    const expected = known.slice(at, at + text.length);
    if (text.startsWith(expected)) {
      this.#at[channel] += expected.length;
      return text.slice(expected.length);
    }
    this.hasDiffered = true;
    return text;
  }

  /** More is known of it than what has come. @param {{text: string, reasoning: string}} has what there is of it so far @param {{text: string, reasoning: string}} known */
  learn(has, known) {
    for (const channel of /** @type {("text" | "reasoning")[]} */ (["text", "reasoning"])) {
      if (this.#at[channel] >= this.#known[channel].length) this.#at[channel] = has[channel].length;
    }
    this.#known = known;
  }

  /** From here on all is new. Returns what came as it is known, and the number of the word with which it is another one. */
  end() {
    const text = this.#known.text.slice(0, this.#at.text);
    const reasoning = this.#known.reasoning.slice(0, this.#at.reasoning);
    const numWords = text.split(/\s+/).filter(Boolean).length;
    const isInside = /\S$/.test(text) && /\S/.test(this.#known.text[text.length] ?? "");
    this.#known = { text, reasoning };
    this.hasDiffered = false;
    return { text, reasoning, word: isInside ? numWords : numWords + 1 };
  }
}

/** Where the word begins in which the other text leaves the one; null: they are equal. @param {string} one @param {string} other */
export function firstDifference(one, other) {
  if (one === other) return null;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  while (at > 0 && /\S/.test(other[at - 1])) at -= 1;
  return at;
}
