/* One crosshair for all rows: both clocks of the place, and what every chart says there. */
import { nearest, valueAt } from "./charts.js";
import { el, number } from "./dom.js";
import { scale } from "./lanes.js";
import { clock } from "./time.js";

export class Crosshair {
  constructor(deck) {
    this.deck = deck;
    this.x = null;
    this.line = el("div", { class: "vline cursor", hidden: "" });
    deck.root.addEventListener("pointermove", (event) => this.hover(event));
    deck.root.addEventListener("pointerleave", () => this.leave());
  }

  hover(event) {
    if (!this.deck.data || event.buttons) return;
    const x = this.deck.xOf(event.clientX);
    if (x === null) this.leave(); else this.show(x, this.deck.layers.words(event));
  }

  show(x, more = "") {
    const { root, data } = this.deck;
    this.x = x;
    this.line.hidden = false;
    this.line.style.left = `${scale(data.axis, root.clientWidth)(x)}px`;
    const parts = [el("b", {}, this.where(x))];
    for (const row of this.deck.rows.shown()) {
      const chart = data.charts[row.dataset.chart];
      const found = valueAt(chart.figure, x);
      if (found) row.querySelector(".value").textContent = number(found.y);
      const beside = valueAt(chart.figure, x, "compare");
      if (beside) parts.push(el("span", {}, besideText(chart.name, beside, found)));
      for (const other of chart.figure.data.filter((t) => t.meta?.role === "other" && t.x.length)) {
        parts.push(el("span", {}, `${other.meta.name} ${chart.name}: ${number(other.y[nearest(other.x, x)])}`));
      }
    }
    if (more) parts.push(el("span", {}, more));
    this.deck.part(".readout").replaceChildren(...parts);
  }

  /** "step 1,001 · 2026-11-29 19:39:12 UTC": both clocks of a place on the axis. */
  where(x) {
    const { x: known, other } = this.deck.data.clock;
    const time = this.deck.kind === "time";
    if (!known.length) return time ? clock(x) : `step ${Math.round(x).toLocaleString("en-US")}`;
    const i = nearest(known, x);
    const [step, ms] = time ? [other[i], x] : [Math.round(x), other[i]];
    return `step ${step.toLocaleString("en-US")} · ${clock(ms)}`;
  }

  /** To the next place of events on the axis, or the one before; said as well, for who does not see
      it. */
  jump(by) {
    const { axis, lanes } = this.deck.data;
    const events = lanes.filter((lane) => !this.deck.view.hides(lane.name)).flatMap((lane) => lane.items)
      .filter((item) => item.x >= axis.start && item.x <= axis.end).sort((a, b) => a.x - b.x);
    const from = this.x ?? (by > 0 ? axis.start - 1 : axis.end + 1);
    const next = by > 0 ? events.find((e) => e.x > from) : events.findLast((e) => e.x < from);
    if (!next) return;
    const told = events.filter((e) => e.x === next.x).map((e) => e.text).join("; ");
    this.show(next.x, told);
    this.deck.part("[data-said]").textContent = `${this.where(next.x)}: ${told}`;
  }

  leave() {
    this.line.hidden = true;
    const { data, root } = this.deck;
    if (!data) return;
    this.deck.part(".readout").replaceChildren(el("span", {}, root.dataset.hint));
    for (const row of this.deck.rows.shown()) {
      row.querySelector(".value").textContent = number(data.charts[row.dataset.chart].last);
    }
  }
}

/** "train/loss of attempt 0: 2.45 (+0.14)": the compared attempt against what counts. */
function besideText(name, beside, counts) {
  const gap = counts && counts.y !== null && beside.y !== null ? beside.y - counts.y : null;
  return `${name} of attempt ${beside.attempt}: ${number(beside.y)}${gap === null ? "" : ` (${gap < 0 ? "" : "+"}${number(gap)})`}`;
}
