// One chart over time. All share one cursor and one choice of time; a gap stays a gap, a restart is marked.

import { useEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
import uPlot from "../vendor/uplot.js";
import { axisWords, clock } from "../parts/format.js";
import { html } from "../parts/html.js";
import { announce, look } from "../state/session.js";
import { chosen, minutes, pause, ring, show, shown } from "../state/samples.js";
import { instants, instantWords, roof } from "./axes.js";
import { colourOf } from "./colours.js";
import { ChartTable } from "./chart-table.js";
import { columnsOf } from "./columns.js";
import { useVisible } from "./visible.js";

/**
 * @typedef {{label: string, colour: number, read: (index: number) => number, draw?: (index: number) => number,
 *   isFilled?: boolean, isDashed?: boolean}} Line draw: where it is drawn, for a line
 *   that stands on others
 * @typedef {{title: string, lines: Line[], words: (value: number) => string, axis?: (value: number, most: number) => string,
 *   least?: number}} Chart axis: a number at the side, whose top is most, where that is not as words has it; least: the top
 *   of the scale is no lower
 */

const SHARED = "monitor";
const HEIGHT = 164;
const NEAR_PX = 6;
const scheme = matchMedia("(prefers-color-scheme: dark)");

/** The charts on the screen: one that is moved by keys moves all. @type {Set<uPlot>} */
const plots = new Set();

/** @param {{chart: Chart}} properties */
export function ChartCard({ chart }) {
  const [isTable, setTable] = useState(false);
  const [root, isVisible] = useVisible();
  const values = useRef(/** @type {HTMLElement | null} */ (null));
  return html`<section class="card chart-card" aria-label=${chart.title} ref=${root}>
    <header>
      <h2>${chart.title}</h2>
      <span class="legend" ref=${values}>
        ${chart.lines.map(
          (line) => html`<span class="key" key=${line.label}><i class=${`swatch series-${line.colour}`} data-dashed=${line.isDashed}></i>${line.label}<output></output></span>`,
        )}
      </span>
      <button type="button" class="link" aria-label=${`${chart.title} as a ${isTable ? "chart" : "table"}`} onClick=${() => setTable(!isTable)}>${isTable ? "Chart" : "Table"}</button>
    </header>
    ${!isVisible ? html`<div class="plot"></div>` : isTable ? html`<${ChartTable} chart=${chart} />` : html`<${Plot} chart=${chart} values=${values} />`}
  </section>`;
}

/** @param {{chart: Chart, values: {current: HTMLElement | null}}} properties */
function Plot({ chart, values }) {
  const root = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const { start, stop, from, to } = shown.value;
  useEffect(() => {
    const place = /** @type {HTMLDivElement} */ (root.current);
    const made = new uPlot(optionsOf(chart, place, values), dataOf(chart, start, stop), place);
    plot.current = made;
    plots.add(made);
    const sizes = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }));
    sizes.observe(place);
    // Its colours are asked for when it is drawn.
    const redraw = () => made.redraw();
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      plots.delete(made);
      sizes.disconnect();
      made.destroy();
    };
  }, [chart]);
  useEffect(() => {
    plot.current?.setData(dataOf(chart, start, stop), false);
    plot.current?.setScale("x", { min: from, max: to });
  });
  const { theme } = look.value;
  const drawnIn = useRef(theme);
  useEffect(() => {
    // One that was just made finds the room of its axes yet.
    if (drawnIn.current !== theme) plot.current?.redraw();
    drawnIn.current = theme;
  }, [theme]);
  const keys = useMemo(() => (/** @type {KeyboardEvent} */ event) => press(event, plot.current, chart), [chart]);
  const now = stop > start ? chart.lines.map((line) => `${line.label} ${chart.words(line.read(stop - 1))}`).join(", ") : "no sample yet";
  return html`<div class="plot" ref=${root} role="img" tabindex="0" aria-label=${`${chart.title}. Now: ${now}`} aria-describedby="chart-keys" onKeyDown=${keys}></div>`;
}

// --- Internal

/** @param {Chart} chart @param {number} start @param {number} stop */
function dataOf(chart, start, stop) {
  return /** @type {uPlot.AlignedData} */ (/** @type {unknown} */ (columnsOf(ring, chart.lines, start, stop)));
}

/** @param {Chart} chart @param {HTMLElement} place @param {{current: HTMLElement | null}} values @returns {uPlot.Options} */
function optionsOf(chart, place, values) {
  const line = () => colourOf(place, "--line");
  const axis = { stroke: () => colourOf(place, "--faint"), font: `11px ${getComputedStyle(place).fontFamily}`, ticks: { show: false } };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 14, 0, 0],
    cursor: {
      sync: { key: SHARED },
      y: false,
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
      bind: { dblclick: () => () => (show(minutes.value), null) },
    },
    scales: { x: { time: false, auto: false }, y: { range: (_, __, most) => [0, roof(Math.max(most ?? 0, chart.least ?? 0))] } },
    axes: [
      { ...axis, size: 26, gap: 6, grid: { show: false }, splits: (_, __, from, to) => instants(from, to), values: (_, splits) => splits.map((time) => instantWords(time)) },
      { ...axis, size: 52, gap: 8, grid: { stroke: line, width: 1 }, splits: (_, __, ___, most) => [0, most / 3, (2 * most) / 3, most], values: (_, splits) => axisWords(chart, splits) },
    ],
    series: [
      {},
      ...chart.lines.map((each) => ({
        stroke: () => colourOf(place, `--series-${each.colour}`),
        fill: each.isFilled ? () => colourOf(place, `--series-${each.colour}-area`) : undefined,
        width: 1.5,
        dash: each.isDashed ? [5, 4] : undefined,
        points: { show: false },
      })),
    ],
    hooks: { draw: [(plot) => markRestarts(plot, place)], setCursor: [(plot) => tell(plot, chart, values.current)], setSelect: [choose] },
  };
}

/** @param {uPlot} plot @param {HTMLElement} place */
function markRestarts(plot, place) {
  const { start, stop } = shown.value;
  const { ctx, bbox } = plot;
  for (let index = start; index < stop; index += 1) {
    if (!ring.isRestart(index)) continue;
    const x = plot.valToPos(ring.time(index), "x", true);
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colourOf(place, "--bad");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `${11 * devicePixelRatio}px ${getComputedStyle(place).fontFamily}`;
    ctx.textAlign = x > bbox.left + bbox.width / 2 ? "right" : "left";
    ctx.textBaseline = "top";
    ctx.fillText(ctx.textAlign === "left" ? " restart" : "restart ", x, bbox.top);
    ctx.restore();
  }
}

/** Writes what the lines are at the cursor beside their names. @param {uPlot} plot @param {Chart} chart @param {HTMLElement | null} legend */
function tell(plot, chart, legend) {
  if (!legend) return;
  const { idx, left = -1 } = plot.cursor;
  // Where there are no samples, the nearest would be of another time.
  const isThere = typeof idx === "number" && left >= 0 && Math.abs(plot.valToPos(plot.data[0][idx], "x") - left) < NEAR_PX;
  const index = isThere ? shown.value.start + idx : -1;
  for (const [at, place] of legend.querySelectorAll("output").entries()) {
    const value = isThere ? chart.lines[at].read(index) : NaN;
    place.textContent = Number.isNaN(value) ? "" : ` ${chart.words(value)}`;
  }
}

/** @param {uPlot} plot */
function choose(plot) {
  const { left, width } = plot.select;
  if (width < 4) return;
  chosen.value = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
  for (const each of plots) each.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** @param {KeyboardEvent} event @param {uPlot | null} plot @param {Chart} chart */
function press(event, plot, chart) {
  if (!plot) return;
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  const step = steps[/** @type {keyof typeof steps} */ (event.key)];
  if (event.key === " ") pause();
  else if (event.key === "Escape" && chosen.value) show(minutes.value);
  else if (step) {
    const times = plot.data[0];
    const at = Math.max(0, Math.min(times.length - 1, (plot.cursor.idx ?? times.length) + step));
    if (!times.length) return;
    for (const each of plots) each.setCursor({ left: each.valToPos(times[at], "x"), top: 0 }, true);
    announce(`${clock(times[at])}: ${chart.lines.map((line) => `${line.label} ${chart.words(line.read(shown.value.start + at))}`).join(", ")}`);
  } else return;
  event.preventDefault();
}
