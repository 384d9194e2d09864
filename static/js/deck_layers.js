/* The heatmap of the layers: another statistic, the modules of a layer, up to five rows as lines. */
import { el, number } from "./dom.js";
import { openTable } from "./deck_table.js";
import { cellAt, drawHeatmap } from "./heatmap.js";

const MOST_LINES = 5;
const TALLEST = 420;
const LOWEST = 150;
const ROW = 5;

/** The options of a select, touched only when they changed: an open list must not close. */
function fill(select, options, chosen) {
  const wanted = JSON.stringify(options);
  if (select.dataset.filled !== wanted) {
    select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
    select.dataset.filled = wanted;
  }
  if (document.activeElement !== select || select.value === "") select.value = chosen;
}

export class Layers {
  constructor(deck) {
    this.deck = deck;
    this.row = deck.part("[data-heatmap]");
    const url = new URL(location.href).searchParams;
    this.chosen = { statistic: url.get("statistic") ?? "", layer: url.get("layer") ?? "" };
    this.lines = (url.get("lines") ?? "").split("|").filter(Boolean).slice(0, MOST_LINES);
    if (!this.row) return;
    for (const name of ["statistic", "layer"]) {
      this.row.querySelector(`[data-${name}]`).addEventListener("change", (event) => this.set({ [name]: event.target.value }));
    }
    this.row.querySelector("[data-line]").addEventListener("change", (event) => this.toggle(event.target.value));
    this.canvas = this.row.querySelector("canvas");
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.row.querySelector("[data-table]").addEventListener("click", () => this.table());
  }

  asked() { return { ...this.chosen, lines: this.lines.join("|") }; }

  told() { return this.asked(); }

  get map() { return this.deck.data?.heatmap; }

  at(event) {
    return this.map && event.target === this.canvas ? cellAt(this.canvas, this.map, this.deck.data.axis, event.offsetX, event.offsetY) : null;
  }

  /** "layer 3: 4.1 robust standard deviations", of what is under the pointer. */
  words(event) {
    const cell = this.at(event);
    return cell ? `${cell.layer}: ${cell.z === null ? "no data" : `${number(cell.z)} robust standard deviations`}` : "";
  }

  /** With Shift or Ctrl a row becomes a line; else it shows its modules, or becomes a line. */
  click(event) {
    const cell = this.at(event);
    if (!cell) return;
    const place = this.map.places[cell.row];
    if (place && !event.shiftKey && !event.ctrlKey && !event.metaKey) this.set({ layer: place });
    else this.toggle(cell.layer);
  }

  toggle(name) {
    if (!name) return;
    this.lines = this.lines.includes(name) ? this.lines.filter((n) => n !== name) : [...this.lines, name].slice(-MOST_LINES);
    this.deck.changed();
  }

  set(change) {
    if ("statistic" in change) this.openable = null;
    if ("layer" in change) this.lines = [];
    this.chosen = { ...this.chosen, ...("statistic" in change ? { layer: "" } : {}), ...change };
    this.deck.changed();
  }

  render() {
    if (!this.row || this.map === undefined) return;
    const { map } = this;
    this.row.hidden = !map;
    if (!map) return;
    this.canvas.style.height = `${Math.min(TALLEST, Math.max(LOWEST, map.layers.length * ROW))}px`;
    drawHeatmap(this.canvas, map, this.deck.data.axis, this.lines);
    const { words } = map.statistics.find((s) => s.slug === map.statistic);
    this.canvas.setAttribute("aria-label", `Robust standard deviations of ${words}, ${map.open || "layers"} by steps`);
    this.canvas.classList.add("opens");
    this.row.querySelector("[data-caption]").textContent = map.caption;
    this.choices(map);
    this.links(map);
  }

  choices(map) {
    if (!map.open) this.openable = map.places.filter(Boolean);
    fill(this.row.querySelector("[data-statistic]"), map.statistics.map((s) => [s.slug, s.words]), map.statistic);
    const places = this.openable ?? [map.open];
    fill(this.row.querySelector("[data-layer]"), [["", "all layers"], ...places.map((p) => [p, p])], map.open);
    this.row.querySelector("[data-layer]").hidden = places.length === 0;
    fill(this.row.querySelector("[data-line]"), [["", "as a line…"], ...map.layers.map((name) => [name, `${this.lines.includes(name) ? "✓ " : ""}${name}`])], "");
    this.deck.view.chips(this.row.querySelector("[data-lines]"), this.lines.map((name) => [name, () => this.toggle(name)]));
  }

  links(map) {
    const told = { statistic: map.statistic, layer: map.open, lines: this.lines.join("|") };
    for (const link of this.deck.root.querySelectorAll("[data-layers-table], [data-chart=layers] [data-csv]")) {
      const url = new URL(link.href);
      for (const [name, value] of Object.entries(told)) url.searchParams.set(name, value);
      link.href = url.href;
    }
  }

  table() {
    const { map } = this;
    if (!map) return;
    const lines = map.grids.flatMap(({ attempt, edges, z }) => z.flatMap((values, row) => values
      .map((value, i) => [map.layers[row], attempt, edges[i], value]).filter(([, , , value]) => value !== null)));
    const out = (z) => (typeof z === "number" ? Math.abs(z) : Infinity);
    lines.sort((a, b) => out(b[3]) - out(a[3]));
    openTable("Layers", `${map.caption}; furthest out first`, ["row", "attempt", this.deck.kind, "robust standard deviations"], lines);
  }
}
