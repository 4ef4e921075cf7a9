// Whether the view stays at the end of the chat. Only the reader decides: moving up ends it, reaching the end starts it.

import { after } from "../text/frame.js";

const NEAR_PX = 48;
const LINE_PX = 24;
/** Where a question that was just sent stands, as a share of the height. */
const QUESTION_AT = 1 / 3;

export class Follow {
  #scroller;
  #isOn = true;
  #lastTop = 0;
  #heightAtLeave = 0;
  #end;
  #onChange;
  #abort = new AbortController();
  // A larger window may have all of it in view, and then there is no way to the end.
  #sizes = new ResizeObserver(() => this.#canScroll || this.#set(true));

  // --- Lifecycle

  /** @param {HTMLElement} scroller @param {(missed: number | null) => void} onChange lines that came since; null while it follows */
  constructor(scroller, onChange) {
    this.#scroller = scroller;
    this.#onChange = onChange;
    this.#end = after(() => this.#keep());
    this.#sizes.observe(scroller);
    const options = { passive: true, signal: this.#abort.signal };
    scroller.addEventListener("scroll", () => this.#read(), options);
    scroller.addEventListener("wheel", (event) => event.deltaY < 0 && this.#canScroll && this.#set(false), options);
  }

  close() {
    this.#end();
    this.#sizes.disconnect();
    this.#abort.abort();
  }

  // --- Actions

  toEnd() {
    this.#set(true);
    this.#keep();
  }

  /** The last question to the top third: its answer gets the room that is left, and fills it before anything moves. */
  toQuestion() {
    const turns = [.../** @type {NodeListOf<HTMLElement>} */ (this.#scroller.querySelectorAll(".turn"))];
    for (const turn of turns) turn.style.minHeight = "";
    const answer = turns.findLast((turn) => turn.matches(".answer"));
    const question = turns.findLast((turn) => turn.matches(".user"));
    if (answer && question) {
      const padding = parseFloat(getComputedStyle(/** @type {HTMLElement} */ (answer.parentElement)).paddingBottom);
      const used = answer.offsetTop - question.offsetTop + padding;
      answer.style.minHeight = `${Math.max(0, this.#scroller.clientHeight * (1 - QUESTION_AT) - used)}px`;
    }
    this.toEnd();
  }

  // --- Internal

  get #canScroll() {
    return this.#scroller.scrollHeight > this.#scroller.clientHeight;
  }

  #read() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    if (scrollTop < this.#lastTop - 1 && !isAtEnd) this.#set(false);
    else if (isAtEnd && scrollTop > this.#lastTop) this.#set(true);
    this.#lastTop = scrollTop;
  }

  #keep() {
    if (!this.#isOn) {
      this.#onChange(Math.max(0, Math.round((this.#scroller.scrollHeight - this.#heightAtLeave) / LINE_PX)));
      return;
    }
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#lastTop = this.#scroller.scrollTop;
  }

  /** @param {boolean} isOn */
  #set(isOn) {
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    this.#heightAtLeave = this.#scroller.scrollHeight;
    this.#onChange(isOn ? null : 0);
  }
}
