/* Follow: new lines appear by themselves. Which chunks came is asked at most once a second after the
   page heard that something changed; lines older than what is shown are put where they belong. */
import { contact } from "./live.js";
import { compare } from "./logs_rows.js";
import { json } from "./logs_stream.js";

const TICK_MS = 1000;
const NEAR_PX = 24;
const MOST_HELD = 2000;
const MOST_PAGES = 12;

export class Follow {
  /** page: see logs.js. mark: number of the newest chunk that the shown lines can be of. */
  constructor(page, mark) {
    this.page = page;
    this.mark = mark;
    this.seen = new Set();
    this.on = false;
    this.held = [];
    this.over = false;
    this.late = 0;
    this.timer = null;
    this.busy = false;
    document.body.addEventListener("live", (event) => {
      if (event.detail.what.includes("logs")) this.soon();
    });
    page.scroller.addEventListener("scroll", () => {
      if ((this.held.length || this.over) && !page.cursors.newer && this.atEnd()) this.release();
    }, { passive: true });
  }

  /** Nothing that is asked for lies in the future: there is nothing to follow. */
  get possible() { return !this.page.asked.to; }

  atEnd() {
    const box = this.page.scroller;
    return box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
  }

  set(on) {
    this.on = on && this.possible;
    if (this.on) {
      this.page.toEnd();
      this.soon();
    }
    this.show();
  }

  reset() {
    this.held = [];
    this.over = false;
    this.show();
  }

  soon() {
    if (!this.on || this.timer || document.hidden) return;
    this.timer = setTimeout(() => { this.timer = null; this.tick(); }, TICK_MS);
  }

  async tick() {
    if (!this.on || !this.possible) return undefined;
    if (this.busy || this.page.searching) return this.soon();
    this.busy = true;
    try {
      const { asked, urls } = this.page;
      const { chunks, counts, newest } = await json(`${urls.news}?attempt=${asked.attempt}&since=${this.mark}`);
      this.page.counts(counts);
      this.page.newer(newest);
      const fresh = chunks.filter(([id]) => !this.seen.has(id));
      this.seen = new Set(chunks.map(([id]) => id));
      this.mark = Math.max(this.mark, ...chunks.map(([id]) => id));
      if (fresh.length) await this.fetch(fresh.map(([, ns]) => BigInt(ns)).reduce((a, b) => (a < b ? a : b)));
    } catch (error) {
      const over = contact() === "signed out";
      this.page.say(`Following: ${error.message}${over ? "" : "; it is tried again"}.`, "errors");
      if (!over) this.soon();
    } finally {
      this.busy = false;
    }
    return undefined;
  }

  /** Lines from `since` on that lie among those shown, then all behind them. What lies before the
      first that is shown is read when a person scrolls there. */
  async fetch(since) {
    const { rows } = this.page;
    const last = this.held.at(-1)?.at ?? rows.last?.dataset.at;
    if (!last) return this.read({ since: String(since) }, () => true);
    const [first, end] = [BigInt(rows.first?.dataset.ns ?? since), BigInt(this.held.at(-1)?.ns ?? rows.last.dataset.ns)];
    if (since <= end) await this.read({ since: String(since > first ? since : first) }, (line) => BigInt(line.ns) <= end);
    return this.read({ after: last }, () => true);
  }

  /** Takes lines page by page while the last one is wanted; too many are not held. */
  async read(params, wanted) {
    let next = params;
    for (let pages = 0; next; pages += 1) {
      const came = [];
      const end = await this.page.lines(next, (part) => came.push(...part.lines));
      this.take(came);
      next = end?.next && (!came.length || wanted(came.at(-1))) ? { after: end.next } : null;
      if (next && pages >= MOST_PAGES) {
        this.over = true;
        this.show();
        return;
      }
    }
  }

  take(lines) {
    const { rows } = this.page;
    const pinned = this.on && this.pinned();
    const last = rows.last?.dataset;
    const unknown = lines.filter((line) => !rows.known.has(line.at));
    const behind = (line) => last && compare(asData(line), last) < 0;
    const inside = unknown.filter(behind);
    this.mark_late(rows.place(inside), last);
    const held = new Set(this.held.map((line) => line.at));
    this.held.push(...unknown.filter((line) => !behind(line) && !held.has(line.at)));
    this.held.sort((a, b) => compare(asData(a), asData(b)));
    this.over ||= this.held.length > MOST_HELD;
    if (this.over) this.held = [];
    if (pinned) {
      this.release();
      this.page.toEnd();
    }
    this.show();
  }

  /** Whether the person looks at the end: at nothing that new lines would push away. */
  pinned() { return this.atEnd() && !this.page.cursors.newer && !this.page.rows.list.querySelector(".detail"); }

  mark_late(nodes, last) {
    for (const node of nodes) {
      if (BigInt(last.ns) - BigInt(node.dataset.ns) < BigInt(this.page.lateNs)) continue;
      node.classList.add("late");
      node.querySelector(".t").title = "came late: younger lines were shown before it";
      this.late += 1;
    }
  }

  /** Shows what was held back; the end anew if that was too much to hold, or if the shown lines do
      not reach up to it. */
  release() {
    const lines = this.held;
    const over = this.over || this.page.cursors.newer;
    this.reset();
    if (over) this.page.end();
    else this.page.appended(lines);
  }

  show() {
    this.page.followed({ on: this.on, held: this.held.length, over: this.over, late: this.late });
  }
}

const asData = (line) => ({ ns: line.ns, rank: line.rank === null ? "" : line.rank, seq: line.seq, at: line.at });
