/* Layers x step buckets on a canvas, on the same x scale as the charts. */
import { colour, pixels } from "./dom.js";
import { scale } from "./lanes.js";

const LIMIT = 6;
const SHADES = 32;

const rgb = (css) => colour(css).match(/[\d.]+/g).slice(0, 3).map(Number);
const mix = (a, b, t) => `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * t)).join(" ")})`;

/** map: {layers, places, grids: [{edges, z}]}; z[layer][bucket] is a number, null (no data) or
    "NaN". lines: names of the rows that are drawn as lines as well, marked at their name. */
export function drawHeatmap(canvas, map, axis, lines = []) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const [low, middle, high] = ["var(--z-low)", "var(--z-mid)", "var(--z-high)"].map(rgb);
  const shades = Array.from({ length: 2 * SHADES + 1 }, (_, i) => mix(middle, i < SHADES ? low : high, Math.abs(i - SHADES) / SHADES));
  const shade = (z) => shades[Math.round(Math.max(-1, Math.min(1, z / LIMIT)) * SHADES) + SHADES];
  const place = scale(axis, width);
  const left = pixels("--gutter-left");
  const right = width - pixels("--gutter-right");
  const row = height / Math.max(1, map.layers.length);
  const nan = colour("var(--nan)");
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, right - left, height);
  pen.clip();
  for (const grid of map.grids) {
    const edges = grid.edges.map(place);
    grid.z.forEach((values, layer) => values.forEach((z, bucket) => {
      if (z === null) return;
      const x = edges[bucket];
      const w = Math.max(1, edges[bucket + 1] - x + 0.4);
      pen.fillStyle = typeof z === "number" ? shade(z) : nan;
      pen.fillRect(x, layer * row, w, row + 0.4);
      if (typeof z === "string") cross(pen, x, layer * row, w, row);
    }));
  }
  pen.restore();
  names(pen, map.layers, row, left, lines);
}

function cross(pen, x, y, w, h) {
  const r = Math.min(w, h, 8) / 2 - 1;
  if (r < 1) return;
  pen.strokeStyle = colour("var(--bg)");
  pen.beginPath();
  pen.moveTo(x + w / 2 - r, y + h / 2 - r);
  pen.lineTo(x + w / 2 + r, y + h / 2 + r);
  pen.moveTo(x + w / 2 + r, y + h / 2 - r);
  pen.lineTo(x + w / 2 - r, y + h / 2 + r);
  pen.stroke();
}

function names(pen, layers, row, left, lines) {
  pen.fillStyle = colour("var(--grey)");
  pen.font = `${left < 60 ? 9 : 11}px ${getComputedStyle(document.body).fontFamily}`;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const every = Math.ceil(12 / row);
  layers.forEach((name, i) => {
    if (lines.includes(name)) {
      pen.fillStyle = colour("var(--text)");
      pen.fillRect(left - 6, i * row, 4, Math.max(3, row));
      pen.fillStyle = colour("var(--grey)");
    }
    if (i % every === 0) pen.fillText(fitting(pen, left < 60 ? name.replace("layer ", "") : name, left - 12), left - 8, (i + 0.5) * row);
  });
}

/** The text, its middle left out where it is wider than `width`. */
function fitting(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  for (let keep = text.length - 1; keep > 2; keep -= 1) {
    const cut = `${text.slice(0, Math.floor(keep / 3))}…${text.slice(text.length - Math.ceil((2 * keep) / 3))}`;
    if (pen.measureText(cut).width <= width) return cut;
  }
  return "…";
}

/** What lies under a point of the canvas, or null. */
export function cellAt(canvas, map, axis, x, y) {
  const left = pixels("--gutter-left");
  const inner = canvas.clientWidth - left - pixels("--gutter-right");
  const at = axis.start + ((x - left) / inner) * (axis.end - axis.start);
  const layer = Math.floor((y / canvas.clientHeight) * map.layers.length);
  for (const grid of map.grids) {
    const bucket = grid.edges.findLastIndex((edge) => edge <= at);
    if (grid.z[layer] && bucket >= 0 && bucket < grid.z[layer].length) {
      return { row: layer, layer: map.layers[layer], z: grid.z[layer][bucket] };
    }
  }
  return null;
}
