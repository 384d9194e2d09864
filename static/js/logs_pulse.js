/* Lines over time: where it became loud. The height of a level is the root of the lines of it and
   worse, so that ten errors show beside a million lines. Drag or click chooses the range. */
import { openTable } from "./deck_table.js";
import { colour, number } from "./dom.js";
import { axis, drawOnsets, pen, pointing } from "./logs_axis.js";

const HEIGHT = 58;
const TOP = 12;
export const COLOURS = {
  debug: "var(--level-low)", info: "var(--level-low)", warning: "var(--level-warn)", error: "var(--level-error)", critical: "var(--level-critical)",
};

export class Pulse {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.page = page;
    this.data = null;
    this.cursor = -1;
    pointing(canvas, {
      onMove: ({ x }, start) => this.point(x, start),
      onPick: (a, b) => this.pick(this.axis.bucket(a.x), this.axis.bucket(b.x)),
      onLeave: () => this.draw(),
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  show(data) {
    this.data = data;
    this.draw();
  }

  draw(from = -1, to = -1) {
    if (!this.data?.counts.length) return;
    const { counts, edges, severities } = this.data;
    const at = axis(this.canvas, edges);
    this.axis = at;
    const most = Math.max(1, ...counts.map(sum));
    const drawing = pen(this.canvas, HEIGHT);
    const tones = severities.map((name) => colour(COLOURS[name]));
    counts.forEach((row, bucket) => {
      let over = sum(row);
      severities.forEach((_, s) => {
        if (row[s]) {
          const high = Math.max(1.5, Math.sqrt(over / most) * (HEIGHT - TOP));
          drawing.fillStyle = tones[s];
          drawing.fillRect(at.at(bucket), HEIGHT - 1 - high, Math.max(1, at.width / at.n - 0.6), high);
        }
        over -= row[s];
      });
    });
    if (from >= 0) shade(drawing, at, from, to, HEIGHT);
    this.label(drawing, at);
    drawOnsets(drawing, at, this.data.onsets, HEIGHT, true);
  }

  label(drawing, at) {
    drawing.fillStyle = colour("var(--grey)");
    drawing.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    drawing.textBaseline = "alphabetic";
    drawing.textAlign = "right";
    drawing.fillText(at.left < 60 ? "√ n" : "lines (√)", at.left - 8, HEIGHT - 4);
  }

  point(x, start) {
    if (!this.axis) return;
    const to = this.axis.bucket(x);
    const from = start ? this.axis.bucket(start.x) : to;
    this.mark(Math.min(from, to), Math.max(from, to));
  }

  mark(from, to) {
    this.draw(from, to);
    const { counts, severities } = this.data;
    const total = severities.map((name, s) => [name, counts.slice(from, to + 1).reduce((n, row) => n + row[s], 0)]);
    const words = total.filter(([, n]) => n).map(([name, n]) => `${number(n)} ${name}`).join(" · ") || "no line";
    this.page.readout(`${this.axis.words(from, to + 1)}: ${words}`);
  }

  pick(a, b) {
    const { edges } = this.data;
    this.page.go({ from: iso(edges[Math.min(a, b)]), to: iso(edges[Math.max(a, b) + 1]), order: "oldest", at: null });
  }

  table() {
    if (!this.data) return;
    const { counts, edges, severities } = this.data;
    const lines = counts.map((row, i) => [edges[i], ...row]).filter(([, ...row]) => sum(row));
    openTable("Lines over time", `${number(lines.length)} of ${number(counts.length)} spans of time have lines; each begins at its time`, ["time", ...severities], lines);
  }

  key(event) {
    if (!this.axis) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      this.cursor = Math.min(this.axis.n - 1, Math.max(0, this.cursor + step));
      this.mark(this.cursor, this.cursor);
    } else if (event.key === "Enter" && this.cursor >= 0) {
      this.pick(this.cursor, this.cursor);
    } else {
      return;
    }
    event.preventDefault();
  }
}

const sum = (row) => row.reduce((a, b) => a + b, 0);
export const iso = (ms) => new Date(ms).toISOString();

export function shade(drawing, at, from, to, height, top = 0) {
  drawing.fillStyle = colour("var(--blue)");
  drawing.globalAlpha = 0.22;
  drawing.fillRect(at.at(from), top, at.at(to + 1) - at.at(from), height);
  drawing.globalAlpha = 1;
}
