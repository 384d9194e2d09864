/* How the rows of the deck are shown: smoothing, clipping, log axes, lanes, other runs. */
import { el, stored } from "./dom.js";
import { request } from "./live.js";
import { setZone, zone } from "./time.js";

const SMOOTHS = ["", "0.6", "0.9", "0.98"];
const MOST_RUNS = 5;
const NAMES = ["smooth", "clip", "log", "with", "align", "attempt"];

export class View {
  constructor(deck) {
    this.deck = deck;
    const url = new URL(location.href).searchParams;
    this.state = Object.fromEntries(NAMES.map((name) => [name, url.get(name)]));
    this.hidden = new Set((url.get("hide") ?? "").split(",").filter(Boolean));
    if (url.get("tz") && url.get("tz") !== zone()) setZone(url.get("tz"));
    this.tools = deck.part("[data-tools]");
    if (this.tools) this.wire();
  }

  /** What the server must know. */
  asked() { return this.state; }

  /** What the address holds. */
  told() { return { ...this.state, hide: [...this.hidden].join(","), tz: stored("zone") ? zone() : null }; }

  hides(lane) { return this.hidden.has(lane); }

  runs() { return (this.state.with ?? "").split(",").filter(Boolean); }

  wire() {
    this.tools.hidden = false;
    for (const field of this.tools.querySelectorAll("[data-view]")) {
      field.addEventListener("change", () => this.set(field.dataset.view, field.value));
    }
    this.tools.querySelector("[data-clip]").addEventListener("click", () => this.set("clip", this.state.clip === "off" ? null : "off"));
    this.tools.querySelector("[data-compare]")?.addEventListener("submit", (event) => {
      event.preventDefault();
      const field = event.target.querySelector("input");
      const wanted = [...new Set([...this.runs(), field.value.trim()])].filter(Boolean).slice(0, MOST_RUNS);
      field.value = "";
      this.set("with", wanted.join(","));
    });
    const names = this.tools.querySelector("[data-series]");
    names?.addEventListener("input", () => this.suggest(names));
  }

  /** Names of series that hold what was typed, as choices of the field. */
  async suggest(field) {
    clearTimeout(this.asking);
    this.asking = setTimeout(async () => {
      const url = new URL(field.dataset.series, location.href);
      url.searchParams.set("q", field.value);
      const answer = await request(url);
      if (!answer.ok) return;
      const { names } = await answer.json();
      field.list.replaceChildren(...names.map((name) => el("option", { value: name })));
    }, 150);
  }

  set(name, value) {
    this.state[name] = value || null;
    this.deck.changed();
    this.render();
  }

  /** The row on a log axis, or back; from then on the address names the rows that are. */
  toggleLog(row) {
    const { charts } = this.deck.data;
    const logs = new Set(this.state.log === null ? Object.keys(charts).filter((name) => charts[name].log) : this.state.log.split(","));
    if (!logs.delete(row)) logs.add(row);
    this.set("log", [...logs].filter(Boolean).join(",") || "none");
  }

  toggleLane(name) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.deck.address();
    this.deck.render();
  }

  key(key) {
    if (!this.tools) return;
    if (key === "l") this.toggleLog("loss");
    if (key === "s") this.set("smooth", SMOOTHS[(SMOOTHS.indexOf(this.state.smooth ?? "") + 1) % SMOOTHS.length]);
    if (key === ".") this.tools.querySelector("[data-series]")?.closest("details").querySelector("summary").click();
  }

  render() {
    if (!this.tools || !this.deck.data) return;
    for (const field of this.tools.querySelectorAll("[data-view]")) {
      if (document.activeElement !== field) field.value = this.state[field.dataset.view] ?? "";
    }
    this.tools.querySelector("[data-clip]").setAttribute("aria-pressed", String(this.state.clip === "off"));
    this.chips(this.tools.querySelector("[data-runs]"), this.runs().map((key) => [key, () => this.set("with", this.runs().filter((k) => k !== key).join(","))]));
    const lanes = this.tools.querySelector("[data-lanes]");
    const names = this.deck.data.lanes.map((lane) => lane.name).join();
    if (lanes && lanes.dataset.filled !== names) {
      lanes.dataset.filled = names;
      lanes.replaceChildren(...this.deck.data.lanes.map(({ name }) => this.laneBox(name)));
    }
  }

  laneBox(name) {
    const box = el("input", { type: "checkbox", ...(this.hides(name) ? {} : { checked: "" }) });
    box.addEventListener("change", () => this.toggleLane(name));
    return el("label", {}, box, ` ${name}`);
  }

  chips(holder, chips) {
    holder?.replaceChildren(...chips.map(([text, remove]) => {
      const button = el("button", { type: "button", class: "chip", "aria-label": `stop showing ${text}` }, `${text} ×`);
      button.addEventListener("click", remove);
      return button;
    }));
  }
}
