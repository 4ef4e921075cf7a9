// Whether the view stays at the end of the chat. Only the reader decides: moving up ends it, reaching the end starts it.

import { after } from "../text/frame.js";

const NEAR_PX = 48;

export class Follow {
  #scroller;
  #isOn = true;
  #lastTop = 0;
  #end;
  #onChange;

  // --- Lifecycle

  /** @param {HTMLElement} scroller @param {(isOn: boolean) => void} onChange */
  constructor(scroller, onChange) {
    this.#scroller = scroller;
    this.#onChange = onChange;
    this.#end = after(() => this.#keep());
    scroller.addEventListener("scroll", () => this.#read(), { passive: true });
    scroller.addEventListener("wheel", (event) => event.deltaY < 0 && this.#set(false), { passive: true });
  }

  close() {
    this.#end();
  }

  // --- Actions

  toEnd() {
    this.#set(true);
    this.#keep();
  }

  // --- Internal

  #read() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    if (scrollTop < this.#lastTop - 1 && !isAtEnd) this.#set(false);
    else if (isAtEnd) this.#set(true);
    this.#lastTop = scrollTop;
  }

  #keep() {
    if (!this.#isOn) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#lastTop = this.#scroller.scrollTop;
  }

  /** @param {boolean} isOn */
  #set(isOn) {
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    this.#onChange(isOn);
  }
}
