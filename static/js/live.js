/* One EventSource a tab. It carries invalidations only; whoever shows data fetches it.
   Dispatches on <body>: "live" {detail: {run, step, what}} and "live-slow" for htmx. */
const POLL_MS = 5000;
const SLOW_MS = 2000;
const SOON_MS = 150;
const HIDDEN_CLOSE_MS = 60000;

const body = document.body;
let source = null;
let poll = null;
let hiddenTimer = null;
let failures = 0;
let paused = false;
let last = 0;

function show(state) {
  for (const node of document.querySelectorAll(".live")) {
    node.dataset.state = state;
    node.querySelector("[data-live-text]").textContent = {
      live: "live", polling: "polling", reconnecting: "reconnecting", paused: "paused",
    }[state];
  }
}

function tell(detail) {
  last = Date.now();
  body.dispatchEvent(new CustomEvent("live", { detail }));
  slowly();
}

let slow = null;
let slowEnd = 0;
/** "live-slow" for words and tables: soon, but at most every 2 s, and once after the last change. */
function slowly() {
  if (slow || document.hidden) return;
  const gap = Math.max(SOON_MS, slowEnd + SLOW_MS - Date.now());
  slow = setTimeout(() => {
    slow = null;
    slowEnd = Date.now();
    body.dispatchEvent(new CustomEvent("live-slow"));
  }, gap);
}

function everything() {
  tell({ run: null, step: null, what: ["metrics", "logs", "checkpoints", "incidents", "orders", "ingest"] });
}

function startPolling() {
  if (!poll) poll = setInterval(() => { if (!document.hidden) everything(); }, POLL_MS);
  show("polling");
}

function stopPolling() {
  clearInterval(poll);
  poll = null;
}

function open() {
  if (source || paused || !body.dataset.events) return;
  const run = body.dataset.run;
  const url = new URL(body.dataset.events, location.href);
  if (run) url.searchParams.set("run", run);
  source = new EventSource(url, { withCredentials: true });
  source.addEventListener("hello", () => {
    failures = 0;
    stopPolling();
    show("live");
    if (last) everything();
    last = Date.now();
  });
  source.addEventListener("changed", (event) => tell(JSON.parse(event.data)));
  source.onerror = () => {
    failures += 1;
    show("reconnecting");
    if (failures >= 2 || source.readyState === EventSource.CLOSED) startPolling();
    if (source.readyState === EventSource.CLOSED) {
      close();
      setTimeout(open, 5000 + Math.random() * 5000);
    }
  };
}

function close() {
  if (source) source.close();
  source = null;
}

export function setPaused(on) {
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
    everything();
    open();
  }
}

export const isPaused = () => paused;

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) {
    hiddenTimer = setTimeout(close, HIDDEN_CLOSE_MS);
  } else if (!paused) {
    if (source) everything();
    open();
  }
});

for (const button of document.querySelectorAll("[data-pause]")) {
  button.hidden = false;
  button.addEventListener("click", () => setPaused(!paused));
}
if (document.querySelector(".live")) open();
window.addEventListener("pagehide", close);
