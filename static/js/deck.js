/* The flight deck: every row on one x axis, refreshed by invalidations, at most once a second. */
import { draw, nearest, onZoom, valueAt } from "./charts.js";
import { el, number, pixels } from "./dom.js";
import { cellAt, drawHeatmap } from "./heatmap.js";
import { drawLanes, drawRuler, scale } from "./lanes.js";
import { clock, timeOfDay } from "./time.js";

const MIN_GAP_MS = 1000;
const LATER_MS = 250;

/** The options of a select, touched only when they changed: an open list must not close. */
function fill(select, options, chosen) {
  const wanted = JSON.stringify(options);
  if (select.dataset.filled !== wanted) {
    select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
    select.dataset.filled = wanted;
  }
  if (document.activeElement !== select || select.value === "") select.value = chosen;
}

class Deck {
  constructor(root) {
    this.root = root;
    this.url = root.dataset.deck;
    this.kind = root.dataset.x;
    this.range = root.dataset.from ? [Number(root.dataset.from), Number(root.dataset.to)] : null;
    this.home = root.hasAttribute("data-fixed") ? this.range : null;
    const asked = new URL(location.href).searchParams;
    this.layers = { statistic: asked.get("statistic") ?? "", layer: asked.get("layer") ?? "" };
    this.data = null;
    this.wait = 0;
    this.lastEnd = 0;
    this.lastCost = 0;
    this.wired = new Set();
    this.cursor = el("div", { class: "vline cursor", hidden: "" });
    this.listen();
    this.load();
  }

  part(selector) { return this.root.querySelector(selector); }

  listen() {
    document.body.addEventListener("live", (event) => { if (event.detail.what.some((w) => w !== "ingest")) this.later(); });
    document.addEventListener("lg:theme", () => this.render());
    document.addEventListener("lg:zone", () => this.render());
    document.addEventListener("lg:key", (event) => this.key(event.detail));
    document.addEventListener("visibilitychange", () => { if (!document.hidden && this.missed) this.later(); });
    new ResizeObserver(() => this.resized()).observe(this.root);
    this.root.addEventListener("pointermove", (event) => this.hover(event));
    this.root.addEventListener("pointerleave", () => this.leave());
    for (const link of document.querySelectorAll("[data-axis]")) {
      link.addEventListener("click", (event) => { event.preventDefault(); this.setKind(link.dataset.axis); });
    }
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.key(button.dataset.zoom));
    }
    for (const group of document.querySelectorAll("[data-zoom-group]")) group.hidden = false;
    for (const name of ["statistic", "layer"]) {
      this.part(`[data-${name}]`)?.addEventListener("change", (event) => this.setLayers({ [name]: event.target.value }));
    }
    this.part("canvas")?.addEventListener("click", (event) => this.openLayer(event));
  }

  /** A refresh soon: never hidden, never over 1 Hz, and with pauses at least as long as the work. */
  later() {
    if (document.hidden) { this.missed = true; return; }
    this.missed = false;
    if (this.wait) return;
    const due = this.lastEnd + Math.max(MIN_GAP_MS, 2 * this.lastCost) - performance.now();
    this.wait = setTimeout(() => { this.wait = 0; this.load(); }, Math.max(LATER_MS, due));
  }

  async load() {
    this.abort?.abort();
    this.abort = new AbortController();
    const started = performance.now();
    const url = new URL(this.url, location.href);
    url.searchParams.set("x", this.kind);
    url.searchParams.set("px", Math.round(this.root.clientWidth));
    if (this.root.dataset.compare) url.searchParams.set("compare", this.root.dataset.compare);
    if (this.range) {
      url.searchParams.set("from", this.range[0]);
      url.searchParams.set("to", this.range[1]);
    }
    for (const [name, value] of Object.entries(this.layers)) if (value) url.searchParams.set(name, value);
    this.root.setAttribute("aria-busy", "true");
    try {
      const headers = this.etag && this.etagUrl === url.href ? { "If-None-Match": this.etag } : {};
      const answer = await fetch(url, { signal: this.abort.signal, headers, credentials: "same-origin" });
      if (answer.status === 200) {
        this.data = await answer.json();
        this.etag = answer.headers.get("ETag");
        this.etagUrl = url.href;
        this.render();
      } else if (answer.status !== 304) {
        this.say(`no new data: the server answered ${answer.status}`);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      this.say("no connection: showing what was loaded");
    }
    this.root.removeAttribute("aria-busy");
    this.lastEnd = performance.now();
    this.lastCost = this.lastEnd - started;
  }

  say(text) {
    const node = this.part("[data-note]");
    node.textContent = text;
    node.hidden = !text;
  }

  render() {
    if (!this.data) return;
    const { axis, charts } = this.data;
    this.say(this.data.note ?? "");
    for (const row of this.root.querySelectorAll("[data-chart]")) {
      const chart = charts[row.dataset.chart];
      row.hidden = !chart;
      if (!chart) continue;
      const plot = row.querySelector(".plot");
      draw(plot, chart.figure, axis);
      if (!this.wired.has(plot)) {
        this.wired.add(plot);
        onZoom(plot, (from, to) => this.setRange(from === null ? this.home : [from, to]));
      }
      row.querySelector("[data-title]").textContent = chart.name;
      row.querySelector(".caption [data-caption]").textContent = chart.caption;
      row.querySelector(".value").textContent = number(chart.last);
    }
    this.renderLanes();
    this.renderHeatmap();
    for (const ruler of this.root.querySelectorAll("svg.ruler")) drawRuler(ruler, axis, (x) => this.tick(x));
    this.overlays();
    this.root.dispatchEvent(new CustomEvent("lg:drawn", { bubbles: true }));
    this.root.dataset.drawn = "true";
  }

  renderLanes() {
    const lanes = this.part("svg.lanes");
    if (lanes) drawLanes(lanes, this.data.lanes, this.data.axis);
  }

  renderHeatmap() {
    const row = this.part("[data-heatmap]");
    if (!row) return;
    const map = this.data.heatmap;
    row.hidden = !map;
    if (!map) return;
    const canvas = row.querySelector("canvas");
    canvas.style.height = `${Math.min(420, Math.max(150, map.layers.length * 5))}px`;
    drawHeatmap(canvas, map, this.data.axis);
    const words = map.statistics.find((s) => s.slug === map.statistic).words;
    canvas.setAttribute("aria-label", `Robust z of ${words}, ${map.open || "layers"} by steps`);
    canvas.classList.toggle("opens", map.places.some(Boolean));
    row.querySelector("[data-caption]").textContent = map.caption;
    if (!map.open) this.openable = map.places.filter(Boolean);
    fill(row.querySelector("[data-statistic]"), map.statistics.map((s) => [s.slug, s.words]), map.statistic);
    const places = this.openable ?? [map.open];
    fill(row.querySelector("[data-layer]"), [["", "all layers"], ...places.map((p) => [p, p])], map.open);
    row.querySelector("[data-layer]").hidden = places.length === 0;
    const table = row.querySelector("[data-layers-table]");
    if (table) {
      const url = new URL(table.href);
      url.searchParams.set("statistic", map.statistic);
      url.searchParams.set("layer", map.open);
      table.href = url.href;
    }
  }

  /** A click on a layer shows its modules. */
  openLayer(event) {
    const map = this.data?.heatmap;
    const cell = map && cellAt(event.target, map, this.data.axis, event.offsetX, event.offsetY);
    const place = cell && map.places[cell.row];
    if (place) this.setLayers({ layer: place });
  }

  setLayers(change) {
    if ("statistic" in change) this.openable = null;
    this.layers = { ...this.layers, ...("statistic" in change ? { layer: "" } : {}), ...change };
    this.address();
    this.load();
  }

  tick(x) {
    return this.kind === "time" ? timeOfDay(x) : x >= 100000 ? `${x / 1000}k` : x.toLocaleString("en-US");
  }

  /** NOW, onset and first evidence as lines through all rows; no data yet is hatched. */
  overlays() {
    const { axis, marks, now } = this.data;
    const width = this.root.clientWidth;
    const place = scale(axis, width);
    const right = width - pixels("--gutter-right");
    const left = pixels("--gutter-left");
    const under = [];
    if (now !== null && place(now) < right) {
      const hatch = el("div", { class: "hatch" });
      hatch.style.left = `${Math.max(left, place(now))}px`;
      hatch.style.right = `${width - right}px`;
      under.push(hatch);
    }
    this.part(".under").replaceChildren(...under);
    const lines = marks.filter((m) => m.x >= axis.start && m.x <= axis.end).map((mark) => {
      const line = el("div", { class: `vline ${mark.kind}${place(mark.x) > width - 150 ? " flip" : ""}`, "data-x": mark.x }, el("span", {}, mark.label));
      line.style.left = `${place(mark.x)}px`;
      return line;
    });
    this.part(".over").replaceChildren(...lines, this.cursor);
  }

  hover(event) {
    if (!this.data || event.buttons) return;
    const box = this.root.getBoundingClientRect();
    const px = event.clientX - box.left;
    const left = pixels("--gutter-left");
    const inner = box.width - left - pixels("--gutter-right");
    if (px < left || px > left + inner) { this.leave(); return; }
    const { axis, charts } = this.data;
    const x = axis.start + ((px - left) / inner) * (axis.end - axis.start);
    this.cursor.hidden = false;
    this.cursor.style.left = `${px}px`;
    const parts = [el("b", {}, this.where(x))];
    for (const row of this.root.querySelectorAll("[data-chart]:not([hidden])")) {
      const chart = charts[row.dataset.chart];
      const found = valueAt(chart.figure, x);
      if (found) row.querySelector(".value").textContent = number(found.y);
      const beside = valueAt(chart.figure, x, "compare");
      if (beside) parts.push(el("span", {}, besideText(chart.name, beside, found)));
    }
    const canvas = this.part("canvas");
    if (this.data.heatmap && event.target === canvas) {
      const cell = cellAt(canvas, this.data.heatmap, axis, event.offsetX, event.offsetY);
      if (cell) parts.push(el("span", {}, `${cell.layer}: z ${cell.z === null ? "no data" : number(cell.z)}`));
    }
    this.part(".readout").replaceChildren(...parts);
  }

  /** "step 1,001 · 2026-11-29 19:39:12 UTC": both clocks of a place on the axis. */
  where(x) {
    const { x: known, other } = this.data.clock;
    if (!known.length) return this.kind === "time" ? clock(x) : `step ${Math.round(x).toLocaleString("en-US")}`;
    const i = nearest(known, x);
    const [step, ms] = this.kind === "time" ? [other[i], x] : [Math.round(x), other[i]];
    return `step ${step.toLocaleString("en-US")} · ${clock(ms)}`;
  }

  leave() {
    this.cursor.hidden = true;
    if (!this.data) return;
    this.part(".readout").replaceChildren(el("span", {}, this.root.dataset.hint));
    for (const row of this.root.querySelectorAll("[data-chart]:not([hidden])")) {
      row.querySelector(".value").textContent = number(this.data.charts[row.dataset.chart].last);
    }
  }

  setKind(kind) {
    if (kind === this.kind) return;
    this.kind = kind;
    this.range = null;
    this.home = null;
    for (const link of document.querySelectorAll("[data-axis]")) link.setAttribute("aria-current", String(link.dataset.axis === kind));
    this.address();
    this.load();
  }

  setRange(range) {
    this.range = range;
    if (range && this.data) {
      this.data.axis = { ...this.data.axis, start: range[0], end: range[1] };
      this.render();
    }
    this.address();
    clearTimeout(this.zooming);
    this.zooming = setTimeout(() => this.load(), range ? 150 : 0);
  }

  /** The URL holds axis and range, so that it can be sent to a colleague. */
  address() {
    const url = new URL(location.href);
    url.searchParams.set("x", this.kind);
    for (const [name, i] of [["from", 0], ["to", 1]]) {
      if (this.range) url.searchParams.set(name, Math.round(this.range[i])); else url.searchParams.delete(name);
    }
    for (const [name, value] of Object.entries(this.layers)) {
      if (value) url.searchParams.set(name, value); else url.searchParams.delete(name);
    }
    history.replaceState(null, "", url);
  }

  key(key) {
    if (!this.data) return;
    const { start, end } = this.data.axis;
    const middle = (start + end) / 2;
    if (key === "x") this.setKind(this.kind === "step" ? "time" : "step");
    if (key === "0") this.setRange(this.home);
    if (key === "+" || key === "=") this.setRange([middle - (end - start) / 4, middle + (end - start) / 4]);
    if (key === "-") this.setRange([Math.max(0, start - (end - start) / 2), end + (end - start) / 2]);
  }

  resized() {
    if (this.width === this.root.clientWidth) return;
    this.width = this.root.clientWidth;
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => this.render(), 120);
  }
}

/** "train/loss of attempt 0: 2.45 (+0.14)": the compared attempt against what counts. */
function besideText(name, beside, counts) {
  const gap = counts && counts.y !== null && beside.y !== null ? beside.y - counts.y : null;
  return `${name} of attempt ${beside.attempt}: ${number(beside.y)}${gap === null ? "" : ` (${gap < 0 ? "" : "+"}${number(gap)})`}`;
}

for (const root of document.querySelectorAll("[data-deck]")) root.deck = new Deck(root);
