// The one voice for screen readers: the transcript itself is not a live region.

import { html } from "../parts/html.js";
import { announcement } from "../state/session.js";

export function Announcer() {
  const { text, isUrgent } = announcement.value;
  return html`<div class="reader" aria-live="polite">${!isUrgent && text}</div>
    <div class="reader" role="alert">${isUrgent && text}</div>`;
}
