// The drawings of the page, each on a grid of 24.

import { html } from "../parts/html.js";

const PATHS = {
  chat: "M5 5h14a1.5 1.5 0 0 1 1.5 1.5v9A1.5 1.5 0 0 1 19 17h-8l-4.5 3.5V17H5a1.5 1.5 0 0 1-1.5-1.5v-9A1.5 1.5 0 0 1 5 5z",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15 15l5 5",
  theme: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  docs: "M6 4h9l4 4v12H6zM14 4v5h5M9 13h6M9 16.5h6",
  sliders: "M4 8h9M19 8h1M4 16h1M11 16h9M16 5.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5zM8 13.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5z",
  menu: "M4 7h16M4 12h16M4 17h16",
  download: "M12 4v11M7 10.500l5 5 5-5M5 19.500h14",
  down: "M7 10l5 5 5-5",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  send: "M12 19V6M6 11.500l6-6 6 6",
  stop: "M8 8h8v8H8z",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  again: "M19.500 12a7.500 7.500 0 1 1-2.200-5.300M19.500 3.500v4h-4",
  same: "M6 9.500h12M6 14.500h12",
  branch: "M7 4v16M7 15c0-4 10-3 10-8M17 4.500v3",
  edit: "M5 19l1-4L16 5l3 3L9 18z",
  bin: "M5 7h14M10 7V4.500h4V7M7 7l1 13h8l1-13",
  thought: "M9 17h6M10 20h4M12 4a5.500 5.500 0 0 0-3 10c.6.500 1 1.200 1 2v1h4v-1c0-.8.4-1.500 1-2a5.500 5.500 0 0 0-3-10z",
  pulse: "M3 12.500h4l2.500-6.500 4.500 12 2.500-5.500H21",
  servers: "M5.500 4.500h13a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1h-13a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1zM5.500 12.500h13a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1h-13a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1zM8 8h.01M8 16h.01",
  pause: "M9 5.500v13M15 5.500v13",
  play: "M8 5.500l10.500 6.500L8 18.500z",
  compare: "M4 5h6.500v14H4zM13.500 5H20v14h-6.500z",
  agents: "M9.500 3.500h5v5h-5zM3.500 15.500h5v5h-5zM15.500 15.500h5v5h-5zM12 8.500v4M6 15.500v-3h12v3",
  close: "M6.500 6.500l11 11M17.500 6.500l-11 11",
  more: "M5.250 12h.5M11.750 12h.5M18.250 12h.5",
  earlier: "M4.500 12a7.500 7.500 0 1 0 2.200-5.300M4.500 3.500v4h4M12 8v4.500l3 1.500",
  tool: "M14 6a4 4 0 0 0-4.800 5.200L4 16.500 7.500 20l5.300-5.200A4 4 0 0 0 18 10l-2.500 2.500-3-3z",
};

/** @typedef {keyof typeof PATHS} IconName */

/** @param {{name: IconName}} properties */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

export function Flame() {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M13 2c.6 3.200-1 4.800-2.600 6.700C8.900 10.500 6.500 12.300 6.500 15.600A5.700 5.700 0 0 0 12.200 22c3.400 0 5.800-2.600 5.800-6.100 0-3.100-1.700-4.700-2.600-6.600-.4 1.300-1 2-1.900 2.500C14.400 8.500 15 4.800 13 2z" /></svg>`;
}
