// On a phone: the letters of the lanes, with the state of each and where it differs; a press turns to its page.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { stateOf } from "../parts/lane-words.js";

const LETTERS = "ABCDEFGH";

/** @param {{lanes: import("../state/lane.js").Lane[], pages: {current: HTMLElement | null}}} properties */
export function Strip({ lanes, pages }) {
  const [at, setAt] = useState(0);
  useEffect(() => {
    const element = pages.current;
    if (!element) return;
    const look = () => setAt(Math.round(element.scrollLeft / element.clientWidth));
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, []);
  const turnTo = (/** @type {number} */ page) => {
    if (pages.current) pages.current.scrollLeft = page * pages.current.clientWidth;
  };
  return html`<div class="strip" role="group" aria-label="Lanes">
    ${lanes.map((lane, page) => {
      const [, words] = stateOf(lane);
      const { word, isSame } = lane.difference.value;
      return html`<button type="button" key=${lane.id} aria-current=${page === at ? "true" : undefined} onClick=${() => turnTo(page)}>
        <span class="letter">${LETTERS[page]}</span><span class="dot" data-state=${dotOf(lane)} role="img" aria-label=${words}></span>
        <span class="where">${page === 0 ? "" : word !== null ? `word ${word + 1}` : isSame ? "same" : ""}</span>
      </button>`;
    })}
  </div>`;
}

/** The look of its dot. @param {import("../state/lane.js").Lane} lane */
function dotOf(lane) {
  const state = lane.turn.value?.state.value;
  if (lane.isRunning) return "loading";
  if (!state || state === "STOPPED") return "unloaded";
  return state === "DONE" ? "serving" : "failed";
}
