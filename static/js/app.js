/* Frame of every page: theme, zone, ages, keyboard. Pages work without it. */
import { store, stored } from "./dom.js";
import { isPaused, setPaused } from "./live.js";
import { refreshTimes, setZone, zone } from "./time.js";

const root = document.documentElement;
const THEMES = ["system", "light", "dark"];

function nextTheme() {
  const name = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
  root.dataset.theme = name;
  store("theme", name);
  label();
  document.dispatchEvent(new CustomEvent("lg:theme"));
}

function label() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    button.hidden = false;
    button.title = `Theme: ${root.dataset.theme}. Click for the next.`;
    button.querySelector("span").textContent = root.dataset.theme[0].toUpperCase() + root.dataset.theme.slice(1);
  }
}

label();
for (const b of document.querySelectorAll("[data-theme-toggle]")) b.addEventListener("click", nextTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new CustomEvent("lg:theme")));

for (const group of document.querySelectorAll("[data-zone]")) group.hidden = false;
for (const b of document.querySelectorAll("[data-zone-set]")) b.addEventListener("click", () => setZone(b.dataset.zoneSet));
setZone(zone());
setInterval(() => { if (!document.hidden) refreshTimes(); }, 5000);
document.body.addEventListener("htmx:afterSwap", (event) => refreshTimes(event.target));

/* Keyboard. No key starts a rollback. */
const dialog = document.getElementById("keys");
let going = false;

function move(by) {
  const items = [...document.querySelectorAll("[data-item]")];
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))].focus();
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  "?": () => dialog.showModal(),
  d: nextTheme,
  t: () => setZone(zone() === "utc" ? "local" : "utc"),
  p: () => { if (document.querySelector("[data-pause]")) setPaused(!isPaused()); },
  "/": () => document.querySelector("[data-search]")?.focus(),
};
const PLACES = { r: "/", i: "/incidents/", l: "/alerts/", n: "/ingest/", a: "/audit/" };

document.addEventListener("keydown", (event) => {
  if (stored("keys") === "off" && event.key !== "?") return;
  if (event.ctrlKey || event.metaKey || event.altKey || dialog?.open) return;
  if (event.target.matches("input, textarea, select, [contenteditable]")) return;
  if (going) {
    going = false;
    if (PLACES[event.key]) location.assign(PLACES[event.key]);
  } else if (event.key === "g") {
    going = true;
    setTimeout(() => { going = false; }, 1200);
  } else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  } else {
    document.dispatchEvent(new CustomEvent("lg:key", { detail: event.key }));
  }
});

const off = document.querySelector("[data-keys-off]");
function keysLabel() { if (off) off.textContent = stored("keys") === "off" ? "Turn single keys on" : "Turn single keys off"; }
off?.addEventListener("click", () => { store("keys", stored("keys") === "off" ? "on" : "off"); keysLabel(); });
keysLabel();
