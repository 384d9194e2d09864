/* The list of lines: each once, in key order, and never more than MAX of them in the document. */
import { el } from "./dom.js";
import { refreshTimes } from "./time.js";

export const MAX = 2000;
const FACTS = ["at", "ns", "rank", "node", "attempt", "step", "source", "seq", "level"];

/** Order of two lines (datasets of their elements): time, rank, place in the file, file. */
export function compare(a, b) {
  if (a.ns !== b.ns) return a.ns.length - b.ns.length || (a.ns < b.ns ? -1 : 1);
  const rank = (line) => (line.rank === "" ? -1 : Number(line.rank));
  return rank(a) - rank(b) || Number(a.seq) - Number(b.seq) || (a.at < b.at ? -1 : Number(a.at > b.at));
}

export class Rows {
  /** list: the <ol>, with the lines that the server has put there. template: of one line. */
  constructor(list, template, address) {
    this.list = list;
    this.template = template.content.firstElementChild;
    this.address = address;
    this.known = new Map([...list.children].map((node) => [node.dataset.at, node]));
  }

  get first() { return this.list.firstElementChild; }
  get last() { return this.list.lastElementChild; }
  get size() { return this.list.childElementCount; }

  clear() {
    this.list.replaceChildren();
    this.known.clear();
  }

  /** Lines in order behind (side "newer") or, newest first, before (side "older") all others.
      True if lines at the other end had to go. */
  add(lines, side) {
    const fresh = this.fresh(lines);
    if (side === "older") this.list.prepend(...fresh.reverse());
    else this.list.append(...fresh);
    return this.trim(side === "older" ? "newer" : "older");
  }

  /** Lines that came late, each where it belongs; the elements that were put in. */
  place(lines) {
    const fresh = this.fresh(lines);
    for (const node of fresh) {
      let before = this.last;
      while (before && compare(before.dataset, node.dataset) > 0) before = before.previousElementSibling;
      if (before) before.after(node);
      else this.list.prepend(node);
    }
    this.trim("older");
    return fresh;
  }

  fresh(lines) {
    const made = [];
    for (const line of lines) {
      if (this.known.has(line.at)) continue;
      const node = lineOf(this.template, line, this.address());
      this.known.set(line.at, node);
      made.push(node);
    }
    return made;
  }

  trim(side) {
    let over = this.size - MAX;
    const cut = over > 0;
    while (over > 0) {
      const node = side === "older" ? this.first : this.last;
      this.known.delete(node.dataset.at);
      node.remove();
      over -= 1;
    }
    return cut;
  }
}

/** The element of one line, from the server's own template. address: "?..." of the query. */
export function lineOf(template, line, address) {
  const node = template.cloneNode(true);
  for (const name of FACTS) node.dataset[name] = line[name] ?? "";
  node.className = `line lv-${line.level}`;
  const link = node.querySelector(".t");
  link.href = `${address}${address === "?" ? "" : "&"}at=${line.at}`;
  const time = link.firstElementChild;
  time.dataset.ms = line.ns.slice(0, -6);
  time.dataset.ns = line.ns;
  refreshTimes(link);
  const level = node.querySelector(".lv");
  level.title = line.level;
  level.textContent = line.level[0].toUpperCase();
  node.querySelector(".rk").textContent = line.rank ?? "–";
  node.querySelector(".hs").textContent = line.node ?? "–";
  const text = node.querySelector(".tx");
  text.replaceChildren(el("span", { class: "stamp" }, line.stamp), ...line.pieces.map((piece, i) => (i % 2 ? el("mark", {}, piece) : piece)));
  if (line.cut) text.append(el("em", { class: "cut" }, ` … ${line.cut.toLocaleString("en-US")} characters more`));
  return node;
}
