// Around each part that may fail alone: what it threw is shown in its place, and the rest of the page lives.

import { Component } from "../vendor/preact.js";
import { html } from "../parts/html.js";
import { OUTDATED } from "../parts/later.js";

export class Fence extends Component {
  state = { of: undefined, failure: "", said: "" };

  /** @param {unknown} error */
  static getDerivedStateFromError(error) {
    return { failure: error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error) };
  }

  /** What failed with one thing may do with another. @param {{of?: string}} properties @param {{of?: string}} state */
  static getDerivedStateFromProps({ of }, { of: before }) {
    return of === before ? null : { of, failure: "", said: "" };
  }

  render() {
    const { failure, said } = this.state;
    if (!failure) return this.props.children;
    if (failure.startsWith(OUTDATED)) {
      return html`<div class="failed-part" role="alert">
        <h2>${OUTDATED}</h2>
        <p>This part of the page comes with it. What is written is kept.</p>
        <div class="actions"><button type="button" class="button main" onClick=${() => location.reload()}>Reload the page</button></div>
      </div>`;
    }
    const take = async () => {
      const { copy } = await import("../parts/copy.js");
      this.setState({ said: (await copy(failure)) ? "Copied" : "No access" });
    };
    return html`<div class="failed-part" role="alert">
      <h2>This part of the page failed</h2>
      <p>${failure.split("\n", 1)[0].slice(0, 300)}</p>
      <div class="actions">
        <button type="button" class="button" onClick=${take}>${said || "Copy report"}</button>
        <button type="button" class="button" onClick=${() => this.setState({ failure: "", said: "" })}>Reload it</button>
      </div>
    </div>`;
  }
}
