// A series as a small line, without axes: how it went, not how much.

import { html } from "../parts/html.js";
import { ring, shown } from "../state/samples.js";

const WIDTH = 160;
const HEIGHT = 24;

/** @param {{of: string, isRate: boolean}} properties */
export function Sparkline({ of: key, isRate }) {
  const { start, stop, from, to } = shown.value;
  const points = [];
  for (let index = start; index < stop; index += 1) points.push([ring.time(index), isRate ? ring.rate(key, index) : ring.at(key, index)]);
  const values = points.map(([, value]) => value).filter(Number.isFinite);
  const low = Math.min(0, ...values);
  const high = Math.max(...values, low + Number.MIN_VALUE);
  let path = "";
  let isDrawn = false;
  for (const [time, value] of points) {
    if (Number.isFinite(value)) {
      const x = (WIDTH * (time - from)) / (to - from);
      const y = HEIGHT - 1 - ((HEIGHT - 2) * (value - low)) / (high - low);
      path += `${isDrawn ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    }
    isDrawn = Number.isFinite(value);
  }
  return html`<svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} width=${WIDTH} height=${HEIGHT} role="img" aria-label=${`from ${low} to ${high}`}><path d=${path} /></svg>`;
}
