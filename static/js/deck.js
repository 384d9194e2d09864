/* The flight deck: every row on one x axis, refreshed by invalidations, at most once a second. */
import { Age } from "./deck_age.js";
import { Crosshair } from "./deck_cursor.js";
import { isNews, merged } from "./deck_delta.js";
import { Layers } from "./deck_layers.js";
import { drawPulse, pulseAt } from "./deck_pulse.js";
import { Rows } from "./deck_rows.js";
import { openTable } from "./deck_table.js";
import { View } from "./deck_view.js";
import { el, pixels } from "./dom.js";
import { drawLanes, drawRuler, scale } from "./lanes.js";
import { request, SIGNED_OUT } from "./live.js";
import { timeOfDay } from "./time.js";

const MIN_GAP_MS = 1000;
const MORE_GAP_MS = 5000;
const LATER_MS = 250;
const PATIENCE_MS = 30_000;
const ZOOM_MS = 150;
const RESIZED_MS = 120;
const STALE_PX = 24;

/** Notes when something was first on the screen: `manage.py bench ui` reads it. */
function mark(name) {
  if (performance.getEntriesByName(name).length) return;
  requestAnimationFrame(() => setTimeout(() => { if (!performance.getEntriesByName(name).length) performance.mark(name); }));
}

/** Scripts run in order, and this one before Plotly: the data comes while Plotly is parsed. */
const plotly = new Promise((done) => {
  if (globalThis.Plotly) done();
  for (const event of ["load", "error"]) document.querySelector("script[data-plotly]").addEventListener(event, done, { once: true });
});

const phone = matchMedia("(max-width: 700px)");
const nextTask = () => new Promise((done) => setTimeout(done));

/** Whether both hold the very same charts. */
function isSame(some, others) {
  const names = Object.keys(others);
  return names.length === Object.keys(some).length && names.every((name) => some[name] === others[name]);
}

class Deck {
  constructor(root) {
    this.root = root;
    this.url = root.dataset.deck;
    this.kind = root.dataset.x;
    this.range = root.dataset.from ? [Number(root.dataset.from), Number(root.dataset.to)] : null;
    this.home = root.hasAttribute("data-fixed") ? this.range : null;
    this.data = null;
    this.wait = 0;
    this.lastEnd = 0;
    this.chosen = -ZOOM_MS; // when a range was chosen
    this.lastCost = 0;
    this.moreEnd = 0;
    this.had = {};
    this.unshown = {}; // whether a part of the newest answers is not what is on the screen
    this.view = new View(this);
    this.rows = new Rows(this);
    this.layers = new Layers(this);
    this.crosshair = new Crosshair(this);
    this.age = new Age(this);
    this.placeEvents();
    this.listen();
    this.load();
  }

  /** On a phone the events are right below the loss; moved, so that focus goes as the eye does. */
  placeEvents() {
    const events = this.part(".lanes").closest(".row");
    if (phone.matches) this.part("[data-chart=loss]").after(events);
    else this.part("[data-heatmap]").before(events);
  }

  part(selector) { return this.root.querySelector(selector); }

  listen() {
    document.body.addEventListener("live", (event) => { if (event.detail.what.some((w) => w !== "ingest")) this.later(); });
    document.addEventListener("lg:theme", () => this.render());
    phone.addEventListener("change", () => this.placeEvents());
    document.addEventListener("lg:zone", () => { this.address(); this.render(); });
    document.addEventListener("lg:key", (event) => this.key(event.detail));
    document.addEventListener("visibilitychange", () => { if (!document.hidden && this.missed) this.later(); });
    new ResizeObserver(() => this.resized()).observe(this.root);
    for (const link of document.querySelectorAll("[data-axis]")) {
      link.addEventListener("click", (event) => { event.preventDefault(); this.setKind(link.dataset.axis); });
    }
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.key(button.dataset.zoom));
    }
    for (const group of document.querySelectorAll("[data-zoom-group]")) group.hidden = false;
    this.part("[data-events-table]")?.addEventListener("click", () => this.eventsTable());
    this.part("[data-pulse-table]")?.addEventListener("click", () => this.pulseTable());
    this.part("[data-pulse] canvas")?.addEventListener("click", (event) => this.openLogs(event));
  }

  /** A refresh soon: never hidden, never over 1 Hz, and with pauses at least as long as the work.
      What is still being loaded goes on: layers that take long would never come on a live run. */
  later() {
    if (document.hidden) { this.missed = true; return; }
    this.missed = false;
    if (this.wait) return;
    const due = this.lastEnd + Math.max(MIN_GAP_MS, 2 * this.lastCost) - performance.now();
    this.wait = setTimeout(() => {
      this.wait = 0;
      const busy = this.abort && performance.now() - this.began < PATIENCE_MS;
      if (document.hidden || busy) this.missed = true; else this.load({ live: true });
    }, Math.max(LATER_MS, due));
  }

  ask(part) {
    const url = new URL(this.url, location.href);
    url.searchParams.set("x", this.kind);
    url.searchParams.set("px", Math.round(this.root.clientWidth));
    url.searchParams.set("part", part);
    if (this.root.dataset.compare) url.searchParams.set("compare", this.root.dataset.compare);
    if (this.range) {
      url.searchParams.set("from", this.range[0]);
      url.searchParams.set("to", this.range[1]);
    }
    const told = { ...this.view.asked(), ...this.layers.asked(), since: this.had[part]?.mark };
    for (const [name, value] of Object.entries(told)) {
      if (value) url.searchParams.set(name, value);
    }
    return url;
  }

  /** The answer, null where it is on the screen already; throws what fetch throws. Only what is new is sent. */
  async get(part, signal) {
    const had = this.had[part];
    const answer = await request(this.ask(part), { signal });
    this.age.reached(true);
    if (answer.status !== 200) {
      this.say(answer.status === 401 ? SIGNED_OUT : `no new data: the server answered ${answer.status}`);
      return null;
    }
    const delta = await answer.json();
    this.had[part] = merged(had, delta);
    this.unshown[part] ||= isNews(delta);
    if (this.unshown[part]) return this.had[part];
    this.say(this.data?.note ?? "");
    return null;
  }

  /** Curves first; layers and log pulse, which cost more, are asked for once these have come, while
      live every few seconds, and travel while the curves are drawn. */
  async load({ live = false } = {}) {
    this.abort?.abort();
    const { signal } = this.abort = new AbortController();
    this.began = performance.now();
    this.root.setAttribute("aria-busy", "true");
    try {
      const found = await this.get("charts", signal);
      const coming = !live || performance.now() - this.moreEnd > MORE_GAP_MS ? this.get("more", signal) : null;
      coming?.catch(() => {}); // told below, unless something newer is loaded by then
      await plotly;
      if (signal.aborted) return;
      if (found) await this.take(found);
      if (signal.aborted) return;
      this.root.dispatchEvent(new CustomEvent("lg:fine"));
      if (coming) {
        const more = await coming;
        if (more && this.data) {
          this.unshown.more = false;
          Object.assign(this.data, { heatmap: more.heatmap, pulse: more.pulse });
          if (more.layers) this.data.charts.layers = more.layers; else delete this.data.charts.layers;
          this.rows.render(["layers"]);
          this.renderMore();
        }
        this.moreEnd = performance.now();
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      this.age.reached(false);
      this.say("no connection: showing what was loaded");
    }
    if (signal.aborted) return;
    this.abort = null;
    this.root.removeAttribute("aria-busy");
    this.lastEnd = performance.now();
    this.lastCost = this.lastEnd - this.began;
    mark("deck:usable");
    if (this.missed) this.later();
  }

  /** Shows an answer; curves that are as they were on an axis that is are not drawn again. */
  async take(found) {
    const { axis, charts: { layers, ...drawn } = {} } = this.data ?? {};
    const same = axis === found.axis && isSame(drawn, found.charts);
    this.unshown.charts = false;
    this.data = { ...this.data, ...found, charts: { ...found.charts, ...(layers && { layers }) } };
    if (!same) return this.render();
    this.say(this.data.note ?? "");
    return this.renderAround();
  }

  say(text) {
    const node = this.part("[data-note]");
    node.textContent = text;
    node.hidden = !text;
  }

  async render() {
    if (!this.data) return;
    this.say(this.data.note ?? "");
    const rows = this.rows.render();
    mark("deck:loss");
    await nextTask();
    this.view.render();
    this.renderAround();
    if (!await rows) return;
    this.root.dispatchEvent(new CustomEvent("lg:drawn", { bubbles: true }));
    this.root.dataset.drawn = "true";
  }

  /** All that is on the axis but the charts. */
  renderAround() {
    this.renderLanes();
    this.renderMore();
    for (const ruler of this.root.querySelectorAll("svg.ruler")) drawRuler(ruler, this.data.axis, (x) => this.tick(x));
    this.overlays();
  }

  renderLanes() {
    const lanes = this.part("svg.lanes");
    if (lanes) drawLanes(lanes, this.data.lanes.filter((lane) => !this.view.hides(lane.name)), this.data.axis);
  }

  eventsTable() {
    if (!this.data) return;
    const lines = this.data.lanes.flatMap((lane) => lane.items.map((item) => [lane.name, item.x, item.text]));
    openTable("Events", `${lines.length} events on the axis of the charts`, ["lane", this.kind, "what"], lines);
  }

  pulseTable() {
    const lines = this.data.pulse.flatMap(({ attempt, ms, counts }) => counts.map((loud, i) => [attempt, ms[i], ...loud]).filter(([, , ...loud]) => Math.max(...loud)));
    openTable("Errors in the logs", this.part("[data-pulse] [data-caption]").textContent, ["attempt", "time", "error", "critical"], lines);
  }

  renderMore() {
    this.layers.render();
    const row = this.part("[data-pulse]");
    if (!row || this.data.pulse === undefined) return;
    row.hidden = !this.data.pulse.length;
    if (!row.hidden) row.querySelector("[data-caption]").textContent = drawPulse(row.querySelector("canvas"), this.data.pulse, this.data.axis);
  }

  /** A click on the pulse shows the errors of that bucket. */
  openLogs(event) {
    const found = this.data?.pulse && pulseAt(this.data.pulse, this.xOf(event.clientX));
    if (!found) return;
    const url = new URL(this.part("[data-pulse]").dataset.logs, location.href);
    const told = { attempt: found.attempt, level: "error", from: new Date(found.from).toISOString(), to: new Date(found.to).toISOString() };
    for (const [name, value] of Object.entries(told)) url.searchParams.set(name, value);
    location.assign(url);
  }

  /** The place on the axis under a pixel of the window; null beside the plots. */
  xOf(clientX) {
    const box = this.root.getBoundingClientRect();
    const left = pixels("--gutter-left");
    const inner = box.width - left - pixels("--gutter-right");
    const at = (clientX - box.left - left) / inner;
    const { start, end } = this.data.axis;
    return at < 0 || at > 1 ? null : start + at * (end - start);
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
    const edge = this.age.stale && now <= axis.end ? Math.min(place(now), right - STALE_PX) : place(now);
    if (now !== null && edge < right) {
      const hatch = el("div", { class: "hatch" });
      hatch.style.left = `${Math.max(left, edge)}px`;
      hatch.style.right = `${width - right}px`;
      under.push(hatch);
    }
    this.part(".under").replaceChildren(...under);
    const lines = marks.filter((m) => m.x >= axis.start && m.x <= axis.end).map((one) => {
      const line = el("div", { class: `vline ${one.kind}${place(one.x) > width - 150 ? " flip" : ""}`, "data-x": one.x }, el("span", {}, one.label));
      line.style.left = `${place(one.x)}px`;
      return line;
    });
    this.part(".over").replaceChildren(...lines, this.crosshair.line);
  }

  setKind(kind) {
    if (kind === this.kind) return;
    this.kind = kind;
    this.range = null;
    this.home = null;
    for (const link of document.querySelectorAll("[data-axis]")) link.setAttribute("aria-current", String(link.dataset.axis === kind));
    this.changed();
  }

  /** What is shown was chosen anew. */
  changed() {
    this.address();
    this.load();
  }

  /** What is there is shown at once, finer data when it comes: one answer for several quick steps. */
  setRange(range) {
    this.range = range;
    this.abort?.abort();
    clearTimeout(this.zooming);
    if (performance.now() - this.chosen < ZOOM_MS) this.zooming = setTimeout(() => this.load(), ZOOM_MS); else this.load();
    this.chosen = performance.now();
    if (range && this.data) {
      this.unshown.charts = true;
      this.data.axis = { ...this.data.axis, start: range[0], end: range[1] };
      this.rows.move();
      this.renderAround();
    }
    this.address();
  }

  /** The URL holds all that was chosen, so that it can be sent to a colleague. */
  address() {
    const url = new URL(location.href);
    const told = {
      x: this.kind,
      from: this.range && String(Math.round(this.range[0])),
      to: this.range && String(Math.round(this.range[1])),
      ...this.view.told(),
      ...this.layers.told(),
    };
    for (const [name, value] of Object.entries(told)) {
      if (value) url.searchParams.set(name, value); else url.searchParams.delete(name);
    }
    history.replaceState(null, "", url);
  }

  key(key) {
    if (!this.data) return;
    const { start, end } = this.data.axis;
    const [middle, width] = [(start + end) / 2, end - start];
    const by = { ArrowLeft: -0.25, ArrowRight: 0.25 }[key];
    if (by && !this.home) this.setRange([start + by * width, end + by * width].map((x) => x - Math.min(0, start + by * width)));
    if (key === "x") this.setKind(this.kind === "step" ? "time" : "step");
    if (key === "0") this.setRange(this.home);
    if (key === "+" || key === "=") this.setRange([middle - width / 4, middle + width / 4]);
    if (key === "-") this.setRange([Math.max(0, start - width / 2), end + width / 2]);
    if (key === "[" || key === "]") this.crosshair.jump(key === "]" ? 1 : -1);
    this.view.key(key);
  }

  resized() {
    if (this.width === this.root.clientWidth) return;
    this.width = this.root.clientWidth;
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => this.render(), RESIZED_MS);
  }
}

for (const root of document.querySelectorAll("[data-deck]")) root.deck = new Deck(root);
