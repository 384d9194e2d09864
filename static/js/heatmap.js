/* Layers x step buckets on a canvas, on the same x scale as the charts. */
import { colour, pixels } from "./dom.js";
import { scale } from "./lanes.js";

const LIMIT = 6;
const SHADES = 32;
const SMALLEST_CROSS = 1;
const HALF_LETTER = 6;

const rgb = (css) => colour(css).match(/[\d.]+/g).slice(0, 3).map(Number);
const word = new Uint32Array(1);
const bytes = new Uint8ClampedArray(word.buffer);

/** A colour as one word of image data, t of the way from a to b. */
function mix(a, b, t) {
  bytes.set([...a.map((v, i) => v + (b[i] - v) * t), 255]);
  return word[0];
}

/** map: {layers, places, grids: [{edges, z}]}; z[layer][bucket] is a number, null (no data) or
    "NaN". lines: names of the rows that are drawn as lines as well, marked at their name. */
export function drawHeatmap(canvas, map, axis, lines = []) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  const place = scale(axis, width);
  const left = pixels("--gutter-left");
  const right = width - pixels("--gutter-right");
  const row = height / Math.max(1, map.layers.length);
  if (right > left) drawCells(pen, map, { place, ratio, left: Math.round(left * ratio), right: Math.round(right * ratio) });
  pen.scale(ratio, ratio);
  crosses(pen, map.grids, place, row, [left, right]);
  names(pen, map.layers, row, left, lines);
}

/** Every cell as pixels of one image: a hundred layers of hundreds of buckets are too many
    rectangles for one frame. */
function drawCells(pen, map, { place, ratio, left, right }) {
  const { height } = pen.canvas;
  const width = right - left;
  const image = pen.createImageData(width, height);
  const cells = new Uint32Array(image.data.buffer);
  const line = new Uint32Array(width);
  const shade = shades();
  const columns = map.grids.map(({ edges }) => columnsOf(edges.map((x) => place(x) * ratio - left), width));
  map.layers.forEach((_, layer) => {
    line.fill(0);
    map.grids.forEach(({ z }, i) => {
      const { first, buckets } = columns[i];
      for (let at = 0; at < buckets.length; at += 1) {
        const value = z[layer][buckets[at]];
        if (value !== null) line[first + at] = shade(value);
      }
    });
    const [top, bottom] = [layer, layer + 1].map((n) => Math.round((n * height) / map.layers.length));
    for (let y = top; y < bottom; y += 1) cells.set(line, y * width);
  });
  pen.putImageData(image, left, 0);
}

/** The bucket under each pixel from `first` on; edges in pixels, ascending. A bucket that is
    narrower than a pixel gives way to the one after it. */
function columnsOf(edges, width) {
  const first = Math.max(0, Math.floor(edges[0]));
  const end = Math.min(width, Math.ceil(edges.at(-1)));
  const buckets = [];
  let bucket = 0;
  for (let x = first; x < end; x += 1) {
    while (bucket < edges.length - 2 && edges[bucket + 1] <= x + 0.5) bucket += 1;
    buckets.push(bucket);
  }
  return { first, buckets };
}

/** z -> colour; what is not finite has one of its own. */
function shades() {
  const [low, middle, high, nan] = ["var(--z-low)", "var(--z-mid)", "var(--z-high)", "var(--nan)"].map(rgb);
  const known = Uint32Array.from({ length: 2 * SHADES + 1 }, (_, i) => mix(middle, i < SHADES ? low : high, Math.abs(i - SHADES) / SHADES));
  const odd = mix(nan, nan, 0);
  return (z) => (typeof z === "number" ? known[Math.round(Math.max(-1, Math.min(1, z / LIMIT)) * SHADES) + SHADES] : odd);
}

/** A cross in every cell that holds no finite value, where cells are large enough to see it. */
function crosses(pen, grids, place, row, [left, right]) {
  pen.strokeStyle = colour("var(--bg)");
  pen.beginPath();
  for (const { edges, z } of grids) {
    z.forEach((values, layer) => values.forEach((value, bucket) => {
      if (typeof value !== "string") return;
      const [from, to] = [place(edges[bucket]), place(edges[bucket + 1])];
      const r = Math.min(to - from, row, 8) / 2 - 1;
      if (r < SMALLEST_CROSS || from < left || to > right) return;
      const [x, y] = [(from + to) / 2, (layer + 0.5) * row];
      pen.moveTo(x - r, y - r);
      pen.lineTo(x + r, y + r);
      pen.moveTo(x + r, y - r);
      pen.lineTo(x - r, y + r);
    }));
  }
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
    if (i % every === 0) pen.fillText(fitting(pen, left < 60 ? name.replace("layer ", "") : name, left - 12), left - 8, Math.max(HALF_LETTER, (i + 0.5) * row));
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
