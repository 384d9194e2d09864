/* Many ranks as one canvas, those of a host side by side: up to 16,384 of them are no elements. */
import { colour, el } from "./dom.js";

const TALLEST = 440;
const LARGEST = 12;
const SMALLEST = 3;
const WORDS = { ".": "no trouble", o: "no trouble", w: "warnings", e: "errors", s: "silent", q: "warnings, now silent", d: "errors, now silent", x: "never heard of" };
const TONES = { ".": "var(--border)", o: "var(--border)", w: "var(--amber)", e: "var(--critical)", s: "var(--border)", q: "var(--amber)", d: "var(--critical)", x: "var(--grey)" };

class Ranks {
  constructor(canvas) {
    this.canvas = canvas;
    canvas.addEventListener("pointermove", (event) => this.tell(this.at(event)));
    canvas.addEventListener("click", (event) => this.open(this.at(event)));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  draw() {
    const { canvas } = this;
    this.cells = JSON.parse(canvas.dataset.ranks).flatMap(([host, ranks, codes]) => [...codes].map((code, i) => ({
      host, code: code.toLowerCase(), suspect: code !== code.toLowerCase(), rank: typeof ranks === "number" ? ranks + i : ranks[i],
    })));
    const width = canvas.clientWidth;
    if (!width) return;
    this.size = Math.max(SMALLEST, Math.min(LARGEST, Math.floor(Math.sqrt((width * TALLEST) / this.cells.length))));
    this.across = Math.max(1, Math.floor(width / this.size));
    const height = Math.ceil(this.cells.length / this.across) * this.size;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const tones = Object.fromEntries(Object.entries(TONES).map(([code, css]) => [code, colour(css)]));
    const [critical, ground] = [colour("var(--critical)"), colour("var(--bg)")];
    const inner = this.size - (this.size > 4 ? 2 : 1);
    this.cells.forEach(({ code, suspect }, i) => {
      const [x, y] = [(i % this.across) * this.size, Math.floor(i / this.across) * this.size];
      pen.fillStyle = tones[code] ?? tones["."];
      if (code === "x") { // never heard of: an empty box
        pen.lineWidth = 1;
        pen.strokeStyle = tones.x;
        pen.strokeRect(x + 0.5, y + 0.5, inner - 1, inner - 1);
      } else {
        pen.fillRect(x, y, inner, inner);
      }
      if ("sqd".includes(code)) { // silent: crossed out
        pen.fillStyle = code === "s" ? tones.x : ground;
        pen.fillRect(x, y + inner / 2 - 0.5, inner, 1);
      }
      if (suspect || i === this.cursor) {
        pen.strokeStyle = critical;
        pen.lineWidth = suspect ? 2 : 1;
        pen.strokeRect(x - 0.5, y - 0.5, inner + 1, inner + 1);
      }
    });
  }

  at({ offsetX, offsetY }) {
    const column = Math.floor(offsetX / this.size);
    return column < this.across ? Math.floor(offsetY / this.size) * this.across + column : -1;
  }

  tell(i) {
    const cell = this.cells[i];
    this.canvas.title = cell ? words(cell) : "";
  }

  open(i) {
    const cell = this.cells[i];
    if (cell) location.assign(`${this.canvas.dataset.logs}?rank=${cell.rank}`);
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.across, ArrowDown: this.across }[event.key];
    if (by) {
      this.cursor = Math.max(0, Math.min(this.cells.length - 1, (this.cursor ?? -by) + by));
      this.draw();
      this.canvas.parentElement.querySelector("[data-rank-said]").textContent = words(this.cells[this.cursor]);
    } else if (event.key === "Enter" && this.cursor !== undefined) {
      this.open(this.cursor);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

const words = ({ rank, host, code, suspect }) => `rank ${rank} on ${host}: ${WORDS[code]}${suspect ? ", suspect" : ""}`;

function drawAll() {
  for (const canvas of document.querySelectorAll("canvas[data-ranks]")) {
    canvas.matrix ??= new Ranks(canvas);
    if (!canvas.parentElement.querySelector("[data-rank-said]")) canvas.after(el("p", { class: "visually-hidden", role: "status", "data-rank-said": "" }));
    canvas.matrix.draw();
  }
}

drawAll();
document.addEventListener("lg:theme", drawAll);
document.body.addEventListener("htmx:afterSettle", drawAll);
window.addEventListener("resize", drawAll);
