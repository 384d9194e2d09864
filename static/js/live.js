/* One EventSource a tab. It carries invalidations only; whoever shows data fetches it, by request().
   Dispatches on <body>: "live" {detail: {run, step, what}}, "live-slow" for htmx, and "live-state"
   when contact() changes. A tab that nobody looks at dispatches nothing, and catches up once. */
const POLL_MS = 5000;
const SLOW_MS = 2000;
const SOON_MS = 150;
const HIDDEN_CLOSE_MS = 60000;
const SILENT_MS = 40000; // the server says something every 15 s
const LOOK_MS = 5000;
export const SIGNED_OUT = "you are signed out: reload the page";

const body = document.body;
let source = null;
let poll = null;
let hiddenTimer = null;
let failures = 0;
let paused = false;
let state = "off";
let greeted = false;
let heard = 0;
let missed = false;
let over = false;

function show(now) {
  state = now;
  for (const node of document.querySelectorAll(".live")) {
    node.dataset.state = state;
    node.querySelector("[data-live-text]").textContent = state;
  }
  body.dispatchEvent(new CustomEvent("live-state"));
}

/** How this tab hears of news: live, polling, reconnecting, paused, or signed out;
    off: it does not. */
export const contact = () => state;

function tell(detail) {
  missed = document.hidden;
  if (missed) return;
  body.dispatchEvent(new CustomEvent("live", { detail }));
  slowly();
}

let slow = null;
let slowEnd = 0;
/** "live-slow" for words and tables: soon, but at most every 2 s, and once after the last change. */
function slowly() {
  if (slow) return;
  const gap = Math.max(SOON_MS, slowEnd + SLOW_MS - Date.now());
  slow = setTimeout(() => {
    slow = null;
    slowEnd = Date.now();
    missed ||= document.hidden;
    if (!document.hidden) body.dispatchEvent(new CustomEvent("live-slow"));
  }, gap);
}

function everything() {
  tell({ run: null, step: null, what: ["metrics", "logs", "checkpoints", "incidents", "orders", "ingest"] });
}

function startPolling() {
  show("polling");
  if (poll) return;
  poll = setInterval(everything, POLL_MS);
  everything();
}

function stopPolling() {
  clearInterval(poll);
  poll = null;
}

function open() {
  if (source || paused || over || !body.dataset.events || !document.querySelector(".live")) return;
  const run = body.dataset.run;
  const url = new URL(body.dataset.events, location.href);
  if (run) url.searchParams.set("run", run);
  source = new EventSource(url, { withCredentials: true });
  heard = Date.now();
  source.addEventListener("hello", (event) => {
    failures = 0;
    heard = Date.now();
    stopPolling();
    show("live");
    // What changed since this page was asked for, it may not show.
    if (greeted || JSON.parse(event.data).quiet_ms <= performance.now()) everything();
    greeted = true;
  });
  source.addEventListener("beat", () => { heard = Date.now(); });
  source.addEventListener("changed", (event) => {
    heard = Date.now();
    const detail = JSON.parse(event.data);
    if (detail.what.includes("everything")) everything(); else tell(detail);
  });
  source.onerror = () => {
    lost();
    if (source.readyState === EventSource.CLOSED) {
      close();
      setTimeout(open, 5000 + Math.random() * 5000);
    }
  };
}

/** The first failure may be a restart that is over at once; from the second on the tab asks. */
function lost() {
  failures += 1;
  if (failures >= 2 || source.readyState === EventSource.CLOSED) startPolling(); else show("reconnecting");
}

/** A connection may die without a word: a laptop that slept, a proxy that forgot it. */
function look() {
  if (!source || document.hidden || Date.now() - heard < SILENT_MS) return;
  lost();
  close();
  open();
}

function close() {
  if (source) source.close();
  source = null;
}

/** The session has ended: what is shown stays, and nothing is asked for any more. */
function signedOut() {
  over = true;
  close();
  stopPolling();
  show("signed out");
}

/** fetch for what a script shows. An answer 401 ends what this tab hears and asks for by itself. */
export async function request(url, { signal } = {}) {
  const answer = await fetch(url, { signal, headers: { Accept: "application/*" } });
  if (answer.status === 401) signedOut();
  return answer;
}

export function setPaused(on) {
  if (over) return;
  paused = on;
  for (const button of document.querySelectorAll("[data-pause]")) {
    button.setAttribute("aria-pressed", String(on));
    button.querySelector("[data-pause-text]").textContent = on ? "Resume" : "Pause";
  }
  if (on) {
    close();
    stopPolling();
    show("paused");
  } else {
    show("reconnecting");
    everything();
    open();
  }
}

export const isPaused = () => paused;

body.addEventListener("htmx:responseError", (event) => { if (event.detail.xhr.status === 401) signedOut(); });

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) {
    hiddenTimer = setTimeout(close, HIDDEN_CLOSE_MS);
  } else if (!paused) {
    if (missed && (source || poll)) everything();
    open();
  }
});

for (const button of document.querySelectorAll("[data-pause]")) {
  button.hidden = false;
  button.addEventListener("click", () => setPaused(!paused));
}
if (document.querySelector(".live")) {
  open();
  setInterval(look, LOOK_MS);
}
window.addEventListener("pagehide", close);
window.addEventListener("pageshow", (event) => { if (event.persisted) open(); });
