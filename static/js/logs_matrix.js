/* Ranks x time: the worst level of each, hosts one below the other. Up to 16,384 ranks: rows that
   share a pixel show the worst of them, and choosing some of them zooms in. */
import { colour } from "./dom.js";
import { axis, drawOnsets, pen, pointing } from "./logs_axis.js";
import { COLOURS, iso, shade } from "./logs_pulse.js";

const MOST_PIXELS = 160;
const CELL = 11;
const NAMES = ["silent", "debug", "info", "warning", "error", "critical"];

/** Reads what log_ranks.pack() made. */
export function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const n = head.n;
  const ranks = new Int32Array(buffer, 4 + size, n);
  const host = new Uint16Array(buffer, 4 + size + 4 * n, n);
  return { ...head, ranks, host, worst: new Uint8Array(buffer, 4 + size + 6 * n) };
}

export class Matrix {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.page = page;
    this.most = Number(canvas.dataset.most) || MOST_PIXELS;
    this.data = null;
    this.cursor = null;
    this.onsets = [];
    pointing(canvas, {
      onMove: (to, from) => this.mark(this.cell(from ?? to), this.cell(to)),
      onPick: (from, to) => this.pick(this.cell(from), this.cell(to)),
      onLeave: () => this.draw(),
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  show(data) {
    this.data = data;
    this.image = null;
    this.canvas.hidden = !data.n;
    this.draw();
  }

  /** Height of the plot and ranks of a row of it: a cell is CELL pixels high, or as fits. */
  measure() {
    const { n } = this.data;
    const high = Math.max(1, Math.min(CELL, Math.floor(this.most / n)));
    const height = n * high <= this.most ? n * high : this.most;
    return { height, rows: Math.min(n, height), high: height / Math.min(n, height) };
  }

  draw(from = null, to = null) {
    if (!this.data?.n) return;
    const began = performance.now();
    this.size = this.measure();
    this.axis = axis(this.canvas, this.data.edges);
    const drawing = pen(this.canvas, this.size.height + 1);
    this.image ??= this.paint();
    hatch(drawing, this.axis, this.size.height);
    drawing.imageSmoothingEnabled = false;
    drawing.drawImage(this.image, this.axis.left, 0, this.axis.width, this.size.height);
    this.names(drawing);
    drawOnsets(drawing, this.axis, this.onsets, this.size.height);
    if (from) {
      const [a, b] = [Math.min(from.row, to.row), Math.max(from.row, to.row)];
      const [c, d] = [Math.min(from.bucket, to.bucket), Math.max(from.bucket, to.bucket)];
      shade(drawing, this.axis, c, d, (b + 1 - a) * this.size.high, a * this.size.high);
    }
    this.canvas.dataset.drawnMs = (performance.now() - began).toFixed(1);
  }

  /** One pixel a bucket and row, as a bitmap. */
  paint() {
    const { n, worst } = this.data;
    const { rows } = this.size;
    const buckets = this.axis.n;
    const cells = n === rows ? worst : merged(worst, n, rows, buckets);
    const image = new OffscreenCanvas(buckets, rows);
    const drawing = image.getContext("2d");
    const bits = drawing.createImageData(buckets, rows);
    const pixels = new Uint32Array(bits.data.buffer);
    const tones = NAMES.map((name) => (name === "silent" ? 0 : packed(colour(COLOURS[name]))));
    for (let i = 0; i < cells.length; i += 1) pixels[i] = tones[cells[i] / 10 | 0];
    drawing.putImageData(bits, 0, 0);
    return image;
  }

  names(drawing) {
    const { hosts, host, n } = this.data;
    const { left } = this.axis;
    drawing.font = `${left < 60 ? 9 : 11}px ${getComputedStyle(document.body).fontFamily}`;
    drawing.textAlign = "right";
    drawing.textBaseline = "middle";
    const per = this.size.height / n;
    let free = 0;
    for (let i = 0; i < n;) {
      let end = i + 1;
      while (end < n && host[end] === host[i]) end += 1;
      const [top, bottom] = [i * per, end * per];
      if (i && bottom - top >= 4) {
        drawing.fillStyle = colour("var(--border)");
        drawing.fillRect(left, top, this.axis.width, 1);
      }
      const y = Math.min(this.size.height - 6, Math.max(6, (top + bottom) / 2));
      if (y - 6 >= free) {
        drawing.fillStyle = colour("var(--grey)");
        drawing.fillText(short(drawing, hosts[host[i]] || "no host", left - 10), left - 8, y);
        free = y + 6;
      }
      i = end;
    }
  }

  cell({ x, y }) {
    const row = Math.min(this.size.rows - 1, Math.max(0, Math.floor(y / this.size.high)));
    return { row, bucket: this.axis.bucket(x) };
  }

  /** Positions of the ranks that a stretch of rows shows: [first, behind the last]. */
  span(a, b) {
    const { n } = this.data;
    const { rows } = this.size;
    return [Math.floor((Math.min(a, b) * n) / rows), Math.max(1, Math.floor(((Math.max(a, b) + 1) * n) / rows))];
  }

  mark(from, to) {
    if (!this.data?.n) return;
    this.draw(from, to);
    const { ranks, hosts, host, worst } = this.data;
    const [i, end] = this.span(from.row, to.row);
    const [c, d] = [Math.min(from.bucket, to.bucket), Math.max(from.bucket, to.bucket)];
    let most = 0;
    let loudest = i;
    for (let r = i; r < end; r += 1) {
      for (let b = c; b <= d; b += 1) {
        const level = worst[r * this.axis.n + b];
        if (level > most) { most = level; loudest = r; }
      }
    }
    const [first, last] = [hosts[host[i]], hosts[host[end - 1]]];
    const where = first === last ? first || "no host" : `${first} to ${last}`;
    const who = end - i === 1 ? `rank ${ranks[i]}` : `${end - i} ranks (${said(ranks, i, end)})`;
    const worse = most > 20 && end - i > 1 ? ` (rank ${ranks[loudest]})` : "";
    this.page.readout(`${who} on ${where}, ${this.axis.words(c, d + 1)}: ${NAMES[most / 10 | 0]}${worse}`);
  }

  pick(from, to) {
    const { edges, ranks } = this.data;
    const [i, end] = this.span(from.row, to.row);
    const [c, d] = [Math.min(from.bucket, to.bucket), Math.max(from.bucket, to.bucket)];
    this.page.go({ rank: said(ranks, i, end), from: iso(edges[c]), to: iso(edges[d + 1]), order: "oldest", at: null });
  }

  key(event) {
    if (!this.data?.n) return;
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (move) {
      const { row, bucket } = this.cursor ?? { row: -move[0], bucket: -move[1] };
      const clamp = (value, most) => Math.min(most - 1, Math.max(0, value));
      this.cursor = { row: clamp(row + move[0], this.size.rows), bucket: clamp(bucket + move[1], this.axis.n) };
      this.mark(this.cursor, this.cursor);
    } else if (event.key === "Enter" && this.cursor) {
      this.pick(this.cursor, this.cursor);
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** The worst of the ranks that share a row. */
function merged(worst, n, rows, buckets) {
  const cells = new Uint8Array(rows * buckets);
  for (let rank = 0; rank < n; rank += 1) {
    const to = Math.floor((rank * rows) / n) * buckets;
    const from = rank * buckets;
    for (let b = 0; b < buckets; b += 1) {
      if (worst[from + b] > cells[to + b]) cells[to + b] = worst[from + b];
    }
  }
  return cells;
}

/** What is silent: hatched, so that it is not taken for quiet. */
function hatch(drawing, { left, width }, height) {
  drawing.save();
  drawing.beginPath();
  drawing.rect(left, 0, width, height);
  drawing.clip();
  drawing.strokeStyle = colour("var(--hatch)");
  drawing.beginPath();
  for (let x = left - height; x < left + width; x += 6) {
    drawing.moveTo(x, height);
    drawing.lineTo(x + height, 0);
  }
  drawing.stroke();
  drawing.restore();
}

/** "rgb(1, 2, 3)" as a pixel. */
function packed(css) {
  const [r, g, b] = css.match(/[\d.]+/g).map(Number);
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

/** Ranks as the query says them: 0-7,64. */
function said(ranks, from, to) {
  const sorted = [...ranks.subarray(from, to)].sort((a, b) => a - b);
  const spans = [];
  for (const rank of sorted) {
    const last = spans.at(-1);
    if (last && rank === last[1] + 1) last[1] = rank;
    else spans.push([rank, rank]);
  }
  return spans.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(",");
}

/** The name, its middle left out where it is wider than `width`. */
function short(drawing, text, width) {
  let cut = text;
  for (let keep = text.length - 1; keep > 2 && drawing.measureText(cut).width > width; keep -= 1) {
    cut = `${text.slice(0, Math.ceil(keep / 3))}…${text.slice(text.length - Math.floor((2 * keep) / 3))}`;
  }
  return cut;
}
