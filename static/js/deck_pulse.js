/* Errors of the logs along the axis: a bar a bucket, critical lines on top. */
import { colour, number, pixels } from "./dom.js";
import { scale } from "./lanes.js";

const HEIGHT = 46;

/** stretches: [{attempt, x: edges, ms: edges, counts: [[errors, critical]]}]. Returns the caption. */
export function drawPulse(canvas, stretches, axis) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const place = scale(axis, width);
  const [left, right] = [pixels("--gutter-left"), width - pixels("--gutter-right")];
  const tones = [colour("var(--vermillion)"), colour("var(--critical)")];
  const seen = stretches.flatMap(({ x, counts }) => counts.filter((_, i) => x[i + 1] >= axis.start && x[i] <= axis.end));
  const most = seen.reduce((top, [a, b]) => Math.max(top, a + b), 1);
  for (const { x, counts } of stretches) {
    counts.forEach(([errors, critical], i) => {
      if (!errors && !critical) return;
      const from = Math.max(left, place(x[i]));
      const to = Math.min(right, place(x[i + 1]));
      if (to < left || from > right) return;
      let low = HEIGHT - 1;
      for (const [at, count] of [errors, critical].entries()) {
        if (!count) continue;
        const high = Math.max(3, Math.sqrt((errors + critical) / most) * (HEIGHT - 10) * (count / (errors + critical)));
        pen.fillStyle = tones[at];
        pen.fillRect(from, low - high, Math.max(2, to - from - 0.5), high);
        low -= high;
      }
    });
  }
  pen.fillStyle = colour("var(--grey)");
  pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  pen.textAlign = "right";
  pen.fillText(left < 60 ? "√ n" : "lines (√)", left - 8, HEIGHT - 4);
  const [errors, critical] = seen.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
  const words = `${number(errors)} error and ${number(critical)} critical lines in view, at most ${number(most)} in one bar; a click opens them`;
  canvas.setAttribute("aria-label", words);
  return words;
}

/** {attempt, from, to} (Unix ms) of the loud bucket at x, or of the one beside it; or null. */
export function pulseAt(stretches, x) {
  if (x === null) return null;
  let best = null;
  for (const { attempt, x: edges, ms, counts } of stretches) {
    counts.forEach((loud, i) => {
      if (!loud[0] && !loud[1]) return;
      const off = Math.max(edges[i] - x, x - edges[i + 1], 0);
      if (off <= edges[i + 1] - edges[i] && (!best || off <= best.off)) best = { off, attempt, from: ms[i], to: ms[i + 1] };
    });
  }
  return best;
}
