/* The logs explorer. The address holds the whole question; the server reads it and says it back, so
   that fields, links and pictures never disagree with what is searched. Works without this as pages
   of lines. */
import { el, number, stored, store } from "./dom.js";
import { request } from "./live.js";
import { copyLink, openContext, toggle } from "./logs_detail.js";
import { Follow } from "./logs_follow.js";
import { Matrix, unpack } from "./logs_matrix.js";
import { Pulse } from "./logs_pulse.js";
import { Rows } from "./logs_rows.js";
import { json, read } from "./logs_stream.js";

const BUCKETS = 240;
const NEAR_PX = 400;
const SLOW_MS = 1000;
const OVERVIEW_MS = 5000;
const find = (selector) => document.querySelector(selector);

const state = JSON.parse(find("#logs-state").dataset.state);
const form = find("[data-query]");
const scroller = find("[data-scroll]");
const status = find("[data-status]");
const empty = find("[data-empty]");

const page = {
  asked: state,
  urls: state.urls,
  lateNs: state.late_ns,
  scroller,
  searching: false,
  cursors: { older: state.older, newer: state.newer },
  address: () => page.asked.address.replace(/[?&]at=[^&]*/, "") || "?",
  rows: null,
  go, say, lines, newer, appended, followed, counts, readout, toEnd, end,
};
page.rows = new Rows(find("[data-lines]"), find("template[data-line]"), page.address);
const { rows } = page;
const pulse = new Pulse(find("[data-pulse]"), page);
const matrix = new Matrix(find("[data-matrix]"), page);
const follow = new Follow(page, state.mark);
let stop = null;
let found = { searched: 0, total: 0, partial: state.partial, side: "older" };

/* -- words */

function say(text, tone = "small muted") {
  status.className = tone;
  status.textContent = text;
}

function readout(text) { find("[data-readout]").textContent = text; }

function progress() {
  const { searched, total, partial } = found;
  const parts = [`${number(rows.size)} line${rows.size === 1 ? "" : "s"} shown`];
  if (total) parts.push(`${page.searching ? "searching, " : "searched "}${number(Math.min(searched, total))} of ${number(total)} chunks`);
  if (partial) parts.push("partial: the search took too long or was stopped");
  if (page.asked.by_steps) parts.push("those of the same minutes that name no step too");
  if (follow.late) parts.push(`${number(follow.late)} came late`);
  say(parts.join(" · "));
  find("[data-go-on]").hidden = !partial || page.searching;
  find("[data-stop]").hidden = !page.searching;
  form.toggleAttribute("data-busy", page.searching);
  empty.hidden = rows.size > 0 || page.searching;
}

function counts(list) {
  find("[data-counts]").replaceChildren(...list.map((one) => el(
    "li", { title: one.title, class: one.tone ? `tone-${one.tone}` : null }, el("b", {}, number(one.value)), ` ${one.word}`)));
}

/** A later attempt has begun: what is followed here ends. */
function newer(newest) {
  const note = find("[data-next-attempt]");
  note.hidden = newest === null || newest <= page.asked.attempt;
  note.querySelector("a").href = `?${params({ attempt: null })}`;
  note.querySelector("b").textContent = newest;
}

/* -- searching */

/** The address with changes; null takes a parameter away. */
function params(changes) {
  const made = new URLSearchParams(page.address().slice(1));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) made.delete(name);
    else made.set(name, value);
  }
  return made;
}

/** Reads lines of the present question; the last part, or null if it has none. */
async function lines(changes, onPart, signal) {
  let last = null;
  await read(`${page.urls.lines}?${params(changes)}`, {
    signal,
    onPart: (part) => {
      if (part.said) return;
      last = part;
      onPart(part);
    },
  });
  return last;
}

/** Asks anew, with changes of the question. push: as a new entry of the history. */
async function go(changes, push = true) {
  stop?.abort();
  const { at = null, ...rest } = changes;
  const made = params({ ...rest, at: null });
  const side = at || made.get("order") === "oldest" ? "newer" : "older";
  const probe = at ? { before: at, with: "1" } : {};
  for (const [name, value] of Object.entries(probe)) made.set(name, value);
  rows.clear();
  page.cursors = { older: null, newer: null };
  follow.reset();
  const first = at ? "older" : side;
  const good = await search(first, `${page.urls.lines}?${made}`, (said) => asked(said, at, push));
  if (good && at) {
    await search("newer", `${page.urls.lines}?${params({ after: at })}`);
    reveal(at);
  }
  overview();
}

/** The server has read the question: fields, address and links follow. */
function asked(said, at, push) {
  page.asked = said;
  const address = at ? `${page.address()}${page.address() === "?" ? "" : "&"}at=${at}` : page.address();
  page.asked.address = address;
  if (push) history.pushState(null, "", address);
  fill();
}

function fill() {
  const said = page.asked;
  form.q.value = said.text;
  const values = { ...said.controls, attempt: said.attempt, from: said.from, to: said.to, order: said.order };
  for (const [name, value] of Object.entries(values)) form[name].value = value ?? "";
  const fault = find("#fault");
  fault.hidden = !said.fault;
  if (said.fault) {
    const [before, wrong, after] = said.fault.pieces;
    fault.replaceChildren(el("code", {}, before, el("mark", {}, wrong), after),
      el("span", {}, [said.fault.message, said.fault.hint].filter(Boolean).join("; ")));
  }
  for (const link of document.querySelectorAll("[data-download]")) {
    link.href = `${page.urls.download}?${params({ format: link.dataset.download })}`;
  }
  for (const link of document.querySelectorAll("[data-choices] a, .log-head .tabs a")) {
    const url = new URL(link.href);
    const range = link.closest("[data-choices]") ? ["from", "to", "order"] : [];
    const wanted = params(Object.fromEntries(range.map((name) => [name, url.searchParams.get(name)])));
    link.search = wanted.toString();
    if (range.length) link.toggleAttribute("aria-current", ["from", "to"].every((name) => (url.searchParams.get(name) ?? "") === (said[name] ?? "")));
  }
  find("[data-empty-words]")?.replaceChildren(said.fault ? "The query cannot be read; the word at fault is marked above."
    : `No line matches in attempt ${said.attempt}${said.from || said.to ? ", in this range" : ""}.`);
}

/** Adds what a search finds at one side. True unless it failed or was stopped. */
async function search(side, url, onSaid = () => {}) {
  stop = new AbortController();
  const { signal } = stop;
  page.searching = true;
  found = { searched: 0, total: 0, partial: false, side };
  const late = setTimeout(progress, SLOW_MS);
  try {
    await read(url, { signal, onPart: (part) => (part.said ? onSaid(part.said) : take(part, side)) });
    return true;
  } catch (error) {
    if (signal !== stop.signal) return false;
    if (error.name === "AbortError") found.partial = true;
    else found.error = error.message;
    return false;
  } finally {
    clearTimeout(late);
    if (signal === stop.signal) {
      page.searching = false;
      progress();
      if (found.error) say(`The search failed: ${found.error}`, "errors");
    }
  }
}

function take(part, side) {
  const { older } = { older: side === "older" };
  const kept = scroller.scrollHeight - scroller.scrollTop;
  const fresh = rows.size === 0;
  const cut = rows.add(part.lines, side);
  page.cursors[side] = part.next;
  if (cut) page.cursors[older ? "newer" : "older"] = (older ? rows.last : rows.first).dataset.at;
  if (older) scroller.scrollTop = fresh ? scroller.scrollHeight : scroller.scrollHeight - kept;
  Object.assign(found, { searched: part.searched, total: part.total, partial: part.partial });
  if (part.lines.length || part.end || found.slow) progress();
}

/** Goes on at one side, if there is more. */
async function more(side, late = false) {
  if (page.searching || !page.cursors[side] || (found.partial && !late)) return;
  await search(side, `${page.urls.lines}?${params({ [side === "older" ? "before" : "after"]: page.cursors[side] })}`);
}

function end() { go({ order: null }, false); }

function toEnd() {
  if (page.cursors.newer) end();
  else scroller.scrollTop = scroller.scrollHeight;
}

/* What is at the end stays at the end when the list becomes smaller: a picture or a fault above it. */
let atEnd = true;
scroller.addEventListener("scroll", () => { atEnd = follow.atEnd(); }, { passive: true });
new ResizeObserver(() => { if (atEnd && !page.cursors.newer) scroller.scrollTop = scroller.scrollHeight; }).observe(scroller);

function appended(came) {
  const stay = follow.atEnd();
  if (rows.add(came, "newer")) page.cursors.older = rows.first.dataset.at;
  if (stay && came.length) scroller.scrollTop = scroller.scrollHeight;
  progress();
}

function reveal(at) {
  for (const node of rows.list.querySelectorAll(":scope > [aria-current]")) node.removeAttribute("aria-current");
  const node = rows.known.get(at);
  if (!node) return say("The line of this permalink does not match, or is not stored any more; these are its neighbours.", "errors");
  node.setAttribute("aria-current", "true");
  node.scrollIntoView({ block: "center" });
  return node.focus({ preventScroll: true });
}

/* -- pictures over time */

let drawn = 0;
let again = null;
async function overview() {
  clearTimeout(again);
  const query = params({ buckets: String(BUCKETS), at: null });
  drawn = Date.now();
  try {
    const [lines_over_time, answer] = await Promise.all([json(`${page.urls.pulse}?${query}`), request(`${page.urls.matrix}?${query}`)]);
    find("[data-overview]").hidden = !lines_over_time.counts.flat().some(Boolean);
    pulse.show(lines_over_time);
    matrix.onsets = lines_over_time.onsets;
    if (answer.ok) matrix.show(unpack(await answer.arrayBuffer()));
  } catch (error) {
    readout(`The pictures over time are missing: ${error.message}`);
  }
}

function redraw() {
  pulse.draw();
  matrix.image = null;
  matrix.draw();
}
for (const name of ["lg:theme", "lg:zone"]) document.addEventListener(name, redraw);
new ResizeObserver(redraw).observe(find("[data-overview]"));
document.body.addEventListener("live", (event) => {
  if (!event.detail.what.includes("logs") || document.hidden) return;
  clearTimeout(again);
  again = setTimeout(overview, Math.max(0, drawn + OVERVIEW_MS - Date.now()));
});

/* -- following */

function followed({ on, held, over, late }) {
  const button = find("[data-follow]");
  button.setAttribute("aria-pressed", String(on));
  const fresh = find("[data-new]");
  fresh.hidden = !held && !over;
  fresh.textContent = over ? "More than 2,000 new lines" : `${number(held)} new line${held === 1 ? "" : "s"}`;
  if (late) progress();
}

/* -- a person acts */

form.addEventListener("submit", (event) => {
  event.preventDefault();
  go({ q: form.q.value, attempt: form.attempt.value, from: form.from.value || null, to: form.to.value || null, order: form.order.value });
});
form.addEventListener("change", (event) => {
  const { name, value } = event.target;
  if (["level", "rank", "node"].includes(name)) go({ q: form.q.value, [name]: value });
  else if (name !== "q") go({ q: form.q.value, [name]: value || null });
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-choices] a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const url = new URL(link.href);
  go(Object.fromEntries(["from", "to", "order"].map((name) => [name, url.searchParams.get(name)])));
});
window.addEventListener("popstate", () => {
  page.asked.address = location.search || "?";
  go({ at: new URLSearchParams(location.search).get("at") }, false);
});

find("[data-pulse-table]").addEventListener("click", () => pulse.table());
find("[data-stop]").addEventListener("click", () => stop?.abort());
find("[data-go-on]").addEventListener("click", () => more(found.side, true));
find("[data-follow]").addEventListener("click", () => follow.set(!follow.on));
find("[data-new]").addEventListener("click", () => { follow.release(); scroller.scrollTop = scroller.scrollHeight; });
scroller.addEventListener("scroll", () => {
  if (scroller.scrollTop < NEAR_PX) more("older");
  if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_PX) more("newer");
}, { passive: true });

rows.list.addEventListener("click", (event) => {
  const line = event.target.closest(".line");
  if (!line || event.target.closest(".detail, a") || String(getSelection())) return;
  line.focus();
  toggle(line, page);
});
rows.list.addEventListener("keydown", (event) => {
  if (!event.target.matches(".line")) return;
  if (event.key === "Enter") toggle(event.target, page);
  if (event.key === "Escape" && event.target.querySelector(".detail")) toggle(event.target, page);
});

function wrap(on) {
  rows.list.classList.toggle("wrapped", on);
  find("[data-wrap]").setAttribute("aria-pressed", String(on));
  store("logs-wrap", on ? "on" : "off");
}
find("[data-wrap]").addEventListener("click", () => wrap(!rows.list.classList.contains("wrapped")));

const KEYS = {
  f: () => follow.set(!follow.on),
  w: () => wrap(!rows.list.classList.contains("wrapped")),
  c: (line) => line && openContext(line, page),
  y: (line) => line && copyLink(line, page),
};
document.addEventListener("lg:key", (event) => KEYS[event.detail]?.(document.activeElement.closest?.("[data-lines] > .line")));

/* -- beginning */

for (const name of ["[data-wrap]", "[data-follow]"]) find(name).hidden = false;
if (matchMedia("(max-width: 700px)").matches) find("[data-filters]").open = false;
wrap(stored("logs-wrap") === "on");
for (const field of form.querySelectorAll("[name^=had_]")) field.remove();
atEnd = state.order === "newest" && !state.paged;
if (state.at) reveal(state.at);
else if (atEnd) scroller.scrollTop = scroller.scrollHeight;
overview();
if (state.partial) more(state.order === "oldest" || state.at ? "newer" : "older", true);
else follow.set(state.running && !state.paged && state.order === "newest");
