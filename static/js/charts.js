/* Plotly rows: the server says what, here the theme, the shared gutters and the size are filled in. */
/* global Plotly */
import { colour, pixels } from "./dom.js";

const CONFIG = { displayModeBar: false, doubleClick: false, responsive: false, showTips: false };

const known = new Map();
document.addEventListener("lg:theme", () => known.clear());

/** Asking for a colour makes the browser compute styles: once a theme is enough. */
function hue(css) {
  if (!known.has(css)) known.set(css, colour(css));
  return known.get(css);
}

/** The figure with every "var(--x)" resolved. Arrays of numbers are passed through. */
export function paint(value) {
  if (typeof value === "string") return value.startsWith("var(") ? hue(value) : value;
  if (Array.isArray(value)) return typeof value[0] === "object" && value[0] ? value.map(paint) : value;
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, key === "x" || key === "y" ? item : paint(item)]));
  }
  return value;
}

/** Draws or updates one row. Zoom of the user survives: the axis range comes from `axis`. */
export function draw(node, figure, axis) {
  const { data, layout } = paint(figure);
  const small = matchMedia("(max-width: 700px)").matches;
  const coarse = matchMedia("(pointer: coarse)").matches;
  Object.assign(layout, {
    width: node.clientWidth,
    height: node.clientHeight,
    margin: { l: pixels("--gutter-left"), r: pixels("--gutter-right"), t: 8, b: 8, pad: 0 },
    font: { family: getComputedStyle(document.body).fontFamily, size: small ? 10 : 12, color: colour("var(--grey)") },
    dragmode: coarse ? false : "zoom",
  });
  layout.xaxis.range = [axis.start, axis.end];
  layout.xaxis.tickvals = axis.ticks;
  return Plotly.react(node, data, layout, CONFIG);
}

/** Moves a row that is drawn to another part of the axis, without new data. */
export function move(node, axis) {
  const { range } = node._fullLayout.xaxis;
  if (range[0] === axis.start && range[1] === axis.end) return null; // the one that was dragged over
  return Plotly.relayout(node, { "xaxis.range": [axis.start, axis.end], "xaxis.tickvals": axis.ticks });
}

/** The value nearest to x of the traces with a role ("value": those that count), newest attempt first. */
export function valueAt(figure, x, role = "value") {
  let best = null;
  for (const trace of figure.data) {
    if (trace.meta?.role !== role || !trace.x.length) continue;
    const i = nearest(trace.x, x);
    const off = Math.abs(trace.x[i] - x);
    if (!best || off <= best.off) best = { off, y: trace.y[i], x: trace.x[i], attempt: trace.meta.attempt };
  }
  return best;
}

/** Index of the value nearest to x in an ascending array. */
export function nearest(values, x) {
  let low = 0;
  let high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle; else high = middle;
  }
  return Math.abs(values[low] - x) <= Math.abs(values[high] - x) ? low : high;
}

/** Saves one row as a picture with its name, its caption and the labels of its axis. */
export async function exportPng(node, chart, tick) {
  const { data, layout } = paint(chart.figure);
  const { width, height } = node.getBoundingClientRect();
  const font = { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("var(--text)") };
  Object.assign(layout, {
    width, height: height + 90, font, margin: { l: 88, r: 24, t: 44, b: 56 },
    paper_bgcolor: colour("var(--bg)"), plot_bgcolor: colour("var(--bg)"),
    title: { text: chart.name, x: 0.01, font: { ...font, size: 15 } },
    annotations: [{ text: chart.caption, xref: "paper", yref: "paper", x: 0, y: 0, yshift: -46, xanchor: "left", showarrow: false, font: { ...font, size: 11 } }],
  });
  const { range, tickvals } = node._fullLayout.xaxis;
  Object.assign(layout.xaxis, { range: [...range], tickvals, ticktext: tickvals.map(tick), showticklabels: true });
  const url = await Plotly.toImage({ data, layout }, { format: "png", width, height: height + 90, scale: 2 });
  const link = document.createElement("a");
  link.href = url;
  link.download = `${chart.name.replace(/[^\w.-]+/g, "-")}.png`;
  link.click();
}

export function onZoom(node, callback) {
  node.on("plotly_relayout", (event) => {
    const from = event["xaxis.range[0]"];
    if (from !== undefined) callback(from, event["xaxis.range[1]"]);
  });
  node.on("plotly_doubleclick", () => callback(null, null));
}
