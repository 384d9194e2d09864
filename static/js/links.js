/* Hosts x hosts: a cell a pair, up to 1,024 x 1,024, and its figures under the pointer or arrows. */
import { colour } from "./dom.js";
import { request } from "./live.js";

const UNMEASURED = 65535;
const [BAD, LOW] = [750, 850];

/** Reads what dashboard/links.py packs. */
function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  return { ...head, n: head.hosts.length, cells: new Uint16Array(buffer, 4 + size) };
}

/** "rgb(...)" or "rgba(...)" as one pixel of ImageData. */
function pixel(css) {
  const [r, g, b, a = 1] = colour(css).match(/[\d.]+/g).map(Number);
  return [r, g, b, Math.round(a * 255)];
}

/** The slowest measured pair of each of size x size squares. */
function slowest({ n, cells }, size) {
  if (size === n) return cells;
  const found = new Uint16Array(size * size).fill(UNMEASURED);
  for (let from = 0; from < n; from += 1) {
    const row = Math.floor(from * size / n) * size;
    for (let to = 0; to < n; to += 1) {
      const at = row + Math.floor(to * size / n);
      found[at] = Math.min(found[at], cells[from * n + to]);
    }
  }
  return found;
}

class Links {
  constructor(canvas, readout, data) {
    Object.assign(this, { canvas, readout, data, at: null });
    canvas.hidden = false;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => this.show(null));
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    document.addEventListener("lg:theme", () => this.repaint());
  }

  repaint() {
    this.image = null;
    this.draw();
  }

  /** One pixel a pair; pairs that share one show their slowest. */
  paint(side) {
    const size = Math.min(this.data.n, side);
    const cells = slowest(this.data, size);
    const image = new OffscreenCanvas(size, size);
    const drawing = image.getContext("2d");
    const bits = drawing.createImageData(size, size);
    const [bad, low, band, ground] = ["--critical", "--amber", "--blue-band", "--bg"]
      .map((name) => pixel(`var(${name})`));
    const part = band[3] / 255;
    const good = [0, 1, 2].map((at) => Math.round(part * band[at] + (1 - part) * ground[at])).concat(255);
    for (let i = 0; i < cells.length; i += 1) {
      if (cells[i] === UNMEASURED) continue;
      bits.data.set(cells[i] < BAD ? bad : cells[i] < LOW ? low : good, 4 * i);
    }
    drawing.putImageData(bits, 0, 0);
    return image;
  }

  draw() {
    const side = Math.round(this.canvas.clientWidth * devicePixelRatio);
    if (!side) return;
    this.canvas.width = this.canvas.height = side;
    const drawing = this.canvas.getContext("2d");
    if (this.image?.side !== side) this.image = { side, drawn: this.paint(side) };
    this.hatch(drawing, side);
    drawing.imageSmoothingEnabled = false;
    drawing.drawImage(this.image.drawn, 0, 0, side, side);
    const cell = side / this.data.n;
    if (cell >= 8) this.grid(drawing, side, cell);
    if (this.at) {
      drawing.strokeStyle = colour("var(--text)");
      drawing.lineWidth = 2;
      drawing.strokeRect(this.at.to * cell, this.at.from * cell, cell, cell);
    }
  }

  hatch(drawing, side) {
    drawing.strokeStyle = colour("var(--hatch)");
    drawing.beginPath();
    for (let at = -side; at < side; at += 8) {
      drawing.moveTo(at, side);
      drawing.lineTo(at + side, 0);
    }
    drawing.stroke();
  }

  grid(drawing, side, cell) {
    drawing.fillStyle = colour("var(--bg)");
    for (let at = 1; at < this.data.n; at += 1) {
      drawing.fillRect(Math.round(at * cell), 0, 1, side);
      drawing.fillRect(0, Math.round(at * cell), side, 1);
    }
  }

  point(event) {
    const { n } = this.data;
    const place = (value) => Math.min(n - 1, Math.max(0, Math.floor(value / this.canvas.clientWidth * n)));
    this.show({ from: place(event.offsetY), to: place(event.offsetX) });
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const { n } = this.data;
    const { from, to } = this.at ?? { from: 0, to: 0 };
    this.show({ from: (from + move[0] + n) % n, to: (to + move[1] + n) % n });
  }

  show(at) {
    this.at = at;
    this.readout.textContent = at ? this.words(at) : "";
    this.draw();
  }

  words({ from, to }) {
    const { n, hosts, usual, cells } = this.data;
    const permille = cells[from * n + to];
    const pair = from === to ? `inside ${hosts[from]}` : `${hosts[from]} → ${hosts[to]}`;
    if (permille === UNMEASURED) return `${pair}: not measured`;
    if (!permille) return `${pair}: the test failed`;
    return `${pair}: ${(permille * usual / 1000).toFixed(1)} Gbit/s, ${(permille / 10).toFixed(0)} % of the usual`;
  }
}

const canvas = document.querySelector("[data-links]");
if (canvas) {
  const readout = document.querySelector("[data-links-readout]");
  try {
    const answer = await request(canvas.dataset.links);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    new Links(canvas, readout, unpack(await answer.arrayBuffer())).draw();
  } catch (error) {
    readout.textContent = `The matrix did not come (${error.message}): load the page again.`;
  }
}
