/* The charts of the deck: drawn where they are near the window, at most MOST of them alive. */
import { draw, exportPng, move, onZoom } from "./charts.js";
import { number } from "./dom.js";
import { openTable } from "./deck_table.js";

const MOST = 6;
const NEAR_PX = 300;

export class Rows {
  constructor(deck) {
    this.deck = deck;
    this.near = new Set();
    this.alive = new Set();
    this.watch = new IntersectionObserver((entries) => this.moved(entries), { rootMargin: `${NEAR_PX}px 0px` });
    for (const row of deck.root.querySelectorAll("[data-chart]")) this.add(row);
    deck.root.addEventListener("click", (event) => this.click(event));
  }

  add(row) { this.watch.observe(row); }

  /** Takes a row away, with what is kept of its chart. */
  remove(row) {
    this.watch.unobserve(row);
    this.near.delete(row);
    if (this.alive.delete(row)) globalThis.Plotly.purge(row.querySelector(".plot"));
    row.remove();
  }

  all() { return [...this.deck.root.querySelectorAll("[data-chart]")]; }

  shown() { return this.all().filter((row) => !row.hidden); }

  moved(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.near.add(target); else this.near.delete(target);
      if (isIntersecting && this.deck.data && this.stale(target)) this.draw(target);
    }
    this.spare();
  }

  stale(row) { return !row.hidden && row.drawn !== this.deck.data.charts; }

  /** Charts far from the window are forgotten once there are too many. */
  spare() {
    for (const row of this.alive) {
      if (this.alive.size <= MOST) return;
      if (this.near.has(row)) continue;
      globalThis.Plotly.purge(row.querySelector(".plot"));
      row.drawn = null;
      row.wired = false;
      this.alive.delete(row);
    }
  }

  /** Draws what is near the window, a row a task, so that the page stays alive between them. Ends
      when all is drawn, or false when a newer call took over. only: rows that may have changed. */
  async render(only = null) {
    const turn = only ? this.turn : (this.turn = {});
    if (!only) this.pinned();
    const due = [];
    for (const row of this.all().filter((one) => !only || only.includes(one.dataset.chart))) {
      const chart = this.deck.data.charts[row.dataset.chart];
      row.hidden = !chart;
      if (!chart) continue;
      this.words(row, chart);
      if (isNear(row)) due.push(row); else row.drawn = null;
    }
    return this.inTurn(due, turn, (row) => this.draw(row));
  }

  /** Moves what is drawn to the present axis; what is far is drawn when it comes near. */
  async move() {
    const turn = this.turn = {};
    const due = this.shown().filter((row) => row.wired && isNear(row));
    for (const row of this.shown()) if (!due.includes(row)) row.drawn = null;
    return this.inTurn(due, turn, (row) => move(row.querySelector(".plot"), this.deck.data.axis));
  }

  async inTurn(rows, turn, work) {
    for (const row of rows) {
      if (this.turn !== turn) return false;
      work(row);
      await new Promise((done) => setTimeout(done));
    }
    return this.turn === turn;
  }

  /** A row for each pinned series, made when it first comes. */
  pinned() {
    const holder = this.deck.part("[data-pins]");
    if (!holder) return;
    const wanted = Object.keys(this.deck.data.charts).filter((name) => name.startsWith("pin:"));
    for (const row of holder.querySelectorAll("[data-chart]")) {
      if (!wanted.includes(row.dataset.chart)) this.remove(row);
    }
    for (const name of wanted) {
      if (holder.querySelector(`[data-chart="${CSS.escape(name)}"]`)) continue;
      const row = holder.querySelector("template").content.firstElementChild.cloneNode(true);
      row.dataset.chart = name;
      const key = name.slice(4);
      for (const field of row.querySelectorAll("[name=key]")) field.value = key;
      for (const link of row.querySelectorAll("[data-csv]")) link.href = `${link.getAttribute("href")}?key=${encodeURIComponent(key)}&format=csv`;
      holder.append(row);
      this.add(row);
    }
  }

  draw(row) {
    const chart = this.deck.data.charts[row.dataset.chart];
    if (!chart) return;
    const plot = row.querySelector(".plot");
    draw(plot, chart.figure, this.deck.data.axis);
    row.drawn = this.deck.data.charts;
    this.alive.add(row);
    if (row.wired) return;
    row.wired = true;
    onZoom(plot, (from, to) => this.deck.setRange(from === null ? this.deck.home : [from, to]));
  }

  words(row, chart) {
    row.querySelector("[data-title]").textContent = chart.name;
    row.querySelector("[data-caption]").textContent = chart.caption;
    row.querySelector(".value").textContent = number(chart.last);
    const badge = row.querySelector("[data-badge]");
    if (badge) {
      badge.hidden = !(chart.drawn < chart.stored);
      badge.textContent = `resampled ${chart.bucket}:1`;
    }
    const log = row.querySelector("[data-log]");
    if (log) log.setAttribute("aria-pressed", String(Boolean(chart.log)));
    const clipped = row.querySelector("[data-clipped]");
    if (clipped) {
      clipped.hidden = !chart.clipped;
      clipped.textContent = `${number(chart.clipped)} clipped: show all`;
    }
  }

  click(event) {
    const button = event.target.closest("button");
    const row = event.target.closest("[data-chart]");
    if (!button || !row) return;
    const chart = this.deck.data?.charts[row.dataset.chart];
    if (!chart) return;
    if ("log" in button.dataset) this.deck.view.toggleLog(row.dataset.chart);
    if ("clipped" in button.dataset) this.deck.view.set("clip", "off");
    if ("png" in button.dataset) exportPng(row.querySelector(".plot"), chart, (x) => this.deck.tick(x));
    if ("table" in button.dataset) openTable(chart.name, chart.caption, ...pointsOf(chart, this.deck.kind));
  }
}

/** Asked anew, as the observer tells of a row that was hidden only a frame later. */
function isNear(row) {
  const { top, bottom } = row.getBoundingClientRect();
  return bottom > -NEAR_PX && top < innerHeight + NEAR_PX;
}

/** Heads and lines of the table of a chart: what is drawn of it. */
function pointsOf(chart, kind) {
  const lines = chart.figure.data
    .filter((trace) => ["value", "old", "rank", "compare", "other"].includes(trace.meta?.role))
    .flatMap((trace) => trace.x.map((x, i) => [trace.meta.name ?? (trace.meta.rank === undefined ? `attempt ${trace.meta.attempt}` : `rank ${trace.meta.rank}`), x, trace.y[i]]));
  return [["of", kind, chart.name], lines];
}
