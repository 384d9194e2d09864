/* Event lanes and rulers as SVG, on the same x scale as the charts. */
import { pixels, svg } from "./dom.js";

const HEIGHT = 24;
const NEAR = 9;
const COUNT_PX = 42;
const MOST_BARS = 45;
const MOST_MARKS = 38; // of a lane: a mark is up to five elements, and a lane at most 200
const SHAPES = {
  triangle: "M0-6L6 5H-6Z",
  diamond: "M0-6L6 0L0 6L-6 0Z",
  square: "M-5-5H5V5H-5Z",
  octagon: "M-3-7H3L7-3V3L3 7H-3L-7 3V-3Z",
  circle: "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1-5 0Z",
  tick: "M-5 0L-1.5 4L6-5",
  hollow: "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1-4 0Z",
  cross: "M-4-4L4 4M4-4L-4 4",
  back: "M5 0H-5M-1-4L-5 0L-1 4",
};
const STROKED = new Set(["tick", "hollow", "cross", "back"]);

/** x -> pixel inside an element `width` wide. */
export function scale(axis, width) {
  const left = pixels("--gutter-left");
  const inner = width - left - pixels("--gutter-right");
  return (x) => left + ((x - axis.start) / (axis.end - axis.start)) * inner;
}

/** Draws all lanes into `node` (an <svg>). Near marks merge into one with a count. */
export function drawLanes(node, lanes, axis) {
  const width = node.clientWidth;
  const place = scale(axis, width);
  const small = pixels("--gutter-left") < 60;
  const row = small ? HEIGHT + 12 : HEIGHT;
  node.setAttribute("viewBox", `0 0 ${width} ${lanes.length * row + 4}`);
  node.setAttribute("height", lanes.length * row + 4);
  node.replaceChildren(...lanes.map((lane, i) => drawLane(lane, i * row, row, place, width, small)));
}

function drawLane(lane, top, row, place, width, small) {
  const group = svg("g", { transform: `translate(0 ${top})`, role: "group", "aria-label": lane.name });
  const left = pixels("--gutter-left");
  const base = row - HEIGHT / 2;
  group.append(
    svg("text", { x: small ? 10 : 14, y: small ? 11 : base + 4, class: "tick" }, lane.name),
    svg("line", { x1: left, x2: width - pixels("--gutter-right"), y1: row + 0.5, y2: row + 0.5, class: "lane-line" }),
  );
  if (!lane.items.length) group.append(svg("text", { x: left + 8, y: base + 4, class: "tick faint" }, "none"));
  const inside = lane.items.filter((item) => {
    const end = item.x2 ?? item.x;
    return place(end) >= left - 0.5 && place(item.x) <= width - pixels("--gutter-right") + 0.5;
  });
  const bars = inside.filter((i) => i.x2 !== undefined);
  for (const item of bars.slice(-MOST_BARS)) group.append(drawBar(item, base, place, left, width));
  if (bars.length > MOST_BARS) group.append(svg("text", { x: left + 8, y: base + 4, class: "tick" }, `${bars.length - MOST_BARS} earlier`));
  for (const cluster of fewer(inside.filter((i) => i.x2 === undefined), place)) group.append(drawMark(cluster, base));
  return group;
}

/** Clusters of near marks; what counts as near grows until they are few enough. */
function fewer(items, place) {
  let near = NEAR;
  let found = merge(items, place, near);
  while (found.length > MOST_MARKS || crowded(found)) {
    near *= 1.5;
    found = merge(items, place, near);
  }
  return found;
}

const middle = (cluster) => (cluster.px + cluster.end) / 2;

/** Whether a count would lie on the mark after it. */
function crowded(clusters) {
  return clusters.some((one, i) => (one.items.length > 1 || one.items[0].n > 1) && i + 1 < clusters.length && middle(clusters[i + 1]) - middle(one) < COUNT_PX);
}

function merge(items, place, near) {
  const clusters = [];
  for (const item of items.map((i) => ({ ...i, px: place(i.x) })).sort((a, b) => a.px - b.px)) {
    const last = clusters.at(-1);
    if (last && item.px - last.px < near) {
      last.items.push(item);
      last.end = item.px;
    } else {
      clusters.push({ px: item.px, end: item.px, items: [item] });
    }
  }
  return clusters;
}

const RANK = { critical: 0, warn: 1, ok: 2, run: 3, info: 4 };

function drawMark(cluster, base) {
  const items = [...cluster.items].sort((a, b) => RANK[a.tone] - RANK[b.tone]);
  const top = items[0];
  const at = middle(cluster);
  const text = items.slice(0, 6).map((i) => i.text).join("\n") + (items.length > 6 ? `\n… ${items.length - 6} more` : "");
  const stroked = STROKED.has(top.shape);
  const shape = svg("path", {
    d: SHAPES[top.shape] ?? SHAPES.circle,
    class: `mark-${top.tone}`,
    transform: `translate(${at} ${base})`,
    ...(stroked ? { fill: "none", "stroke-width": 2, "stroke-linecap": "round", "stroke-linejoin": "round" } : {}),
  });
  if (stroked) shape.setAttribute("class", `stroke-${top.tone}`);
  const content = [svg("title", {}, text), svg("rect", { x: at - 12, y: base - 12, width: 24, height: 24, fill: "transparent" }), shape];
  const count = items.reduce((sum, i) => sum + (i.n ?? 1), 0);
  const times = count > 1 ? `×${count.toLocaleString("en-US")}` : "";
  if (times) content.push(svg("text", { x: at + 9, y: base + 4, class: "tick" }, times));
  const label = times ? `${times}: ${text}` : text; // what is seen is said
  return top.href
    ? svg("a", { href: top.href, "aria-label": label }, ...content)
    : svg("g", { role: "img", "aria-label": label }, ...content);
}

function drawBar(item, base, place, left, width) {
  const from = Math.max(left, place(item.x));
  const to = Math.max(from + 6, Math.min(width - pixels("--gutter-right"), place(item.x2)));
  const group = svg("g", { role: "img", "aria-label": item.text }, svg("title", {}, item.text),
    svg("rect", { x: from, y: base - 8, width: to - from, height: 16, rx: 3, class: `mark-${item.tone}` }));
  if (to - from > item.label.length * 7 + 12) {
    group.append(svg("text", { x: from + 7, y: base + 4, class: item.tone === "old" ? "on-old" : "on-bar" }, item.label));
  }
  return group;
}

/** The labelled axis; `format` gives a tick's text. */
export function drawRuler(node, axis, format) {
  const width = node.clientWidth;
  const place = scale(axis, width);
  node.setAttribute("viewBox", `0 0 ${width} 26`);
  node.replaceChildren(...axis.ticks.map((x) => {
    const late = place(x) > width - 30;
    return svg("text", { x: late ? width - 4 : place(x), y: 16, "text-anchor": late ? "end" : "middle", class: "tick" }, format(x));
  }));
}
