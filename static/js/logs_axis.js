/* What the pulse and the matrix share: one time axis, and choosing a part of it with the pointer. */
import { colour, pixels } from "./dom.js";
import { timeOfDay } from "./time.js";

/** Pixels and buckets of a canvas whose plot begins and ends at the page's gutters. */
export function axis(canvas, edges) {
  const left = pixels("--gutter-left");
  const width = canvas.clientWidth - left - pixels("--gutter-right");
  const n = edges.length - 1;
  return {
    left,
    width,
    n,
    at: (bucket) => left + (bucket / n) * width,
    bucket: (x) => Math.min(n - 1, Math.max(0, Math.floor(((x - left) / width) * n))),
    place: (ms) => {
      const bucket = edges.findLastIndex((edge) => edge <= ms);
      return bucket < 0 || bucket >= n ? null : left + ((bucket + (ms - edges[bucket]) / (edges[bucket + 1] - edges[bucket])) / n) * width;
    },
    words: (from, to) => `${timeOfDay(edges[from])}–${timeOfDay(edges[to])}`,
  };
}

/** A pen for the canvas at the screen's own resolution; the canvas is `height` CSS pixels high. */
export function pen(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.setProperty("block-size", `${height}px`);
  canvas.width = Math.round(canvas.clientWidth * scale);
  canvas.height = Math.round(height * scale);
  const drawing = canvas.getContext("2d");
  drawing.scale(scale, scale);
  return drawing;
}

/** Dashed lines where incidents began; with their names if there is room for them on top. */
export function drawOnsets(drawing, at, onsets, height, named = false) {
  drawing.strokeStyle = drawing.fillStyle = colour("var(--purple)");
  drawing.setLineDash([4, 3]);
  drawing.lineWidth = 1.5;
  drawing.textBaseline = "top";
  let free = 0;
  for (const { ms, label } of [...(onsets ?? [])].sort((a, b) => a.ms - b.ms)) {
    const x = at.place(ms);
    if (x === null) continue;
    drawing.beginPath();
    drawing.moveTo(x, 0);
    drawing.lineTo(x, height);
    drawing.stroke();
    const right = x > at.left + at.width - 60;
    const width = drawing.measureText(label).width + 8;
    const start = right ? x - width : x;
    if (!named || start < free) continue;
    drawing.textAlign = "left";
    drawing.fillText(label, start + 4, 0);
    free = start + width;
  }
  drawing.setLineDash([]);
}

/** Calls onMove(x, y, start) while the pointer is over the canvas, with where a drag began, and
    onPick(start, end) when it was dragged or clicked; onLeave when it is gone. */
export function pointing(canvas, { onMove, onPick, onLeave }) {
  let start = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    start = place(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => onMove(place(event), start));
  canvas.addEventListener("pointerup", (event) => {
    if (start) onPick(start, place(event));
    start = null;
  });
  canvas.addEventListener("pointercancel", () => { start = null; onLeave(); });
  canvas.addEventListener("pointerleave", () => { if (!start) onLeave(); });
}
