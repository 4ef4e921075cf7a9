// The frame around every view. A part that throws is said to have failed, and the rest lives.

import { Component } from "../vendor/preact.js";
import { html } from "../parts/html.js";
import { Announcer } from "./announcer.js";
import { Banner } from "./banner.js";
import { KeyPrompt } from "./key-prompt.js";
import { Rail } from "./rail.js";

/** @param {{View: import("../vendor/preact.js").ComponentType}} properties */
export function Frame({ View }) {
  return html`<a class="skip" href="#prompt" onClick=${toPrompt}>To the message field</a>
    <${Rail} />
    <${Banner} />
    <div id="view"><${Fence}><${View} /><//></div>
    <${KeyPrompt} />
    <${Announcer} />`;
}

/** @param {Event} event */
function toPrompt(event) {
  // The hash is where the page is, and stays.
  event.preventDefault();
  document.getElementById("prompt")?.focus();
}

class Fence extends Component {
  state = { failure: "" };

  /** @param {unknown} error */
  static getDerivedStateFromError(error) {
    return { failure: error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error) };
  }

  render() {
    if (!this.state.failure) return this.props.children;
    return html`<div class="failed-part" role="alert">
      <h1>This part of the page failed</h1>
      <pre>${this.state.failure.slice(0, 600)}</pre>
      <button type="button" class="button" onClick=${() => this.setState({ failure: "" })}>Reload it</button>
    </div>`;
  }
}
