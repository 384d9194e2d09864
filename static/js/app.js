/* Frame of every page: theme, zone, rail, menus, ages, keyboard. Pages work without it. */
import { openAct, store, stored } from "./dom.js";
import { isPaused, setPaused } from "./live.js";
import { palette } from "./palette.js";
import { nextZone, refreshTimes, setZone, zone } from "./time.js";

const root = document.documentElement;
const all = (selector) => document.querySelectorAll(selector);
const THEMES = ["system", "light", "dark"];

/* -- theme and zone */

function setTheme(name) {
  root.dataset.theme = name;
  store("theme", name);
  label();
  document.dispatchEvent(new CustomEvent("lg:theme"));
}

const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length]);

function label() {
  for (const button of all("[data-theme-toggle]")) {
    button.hidden = false;
    button.title = `Theme: ${root.dataset.theme}. Click for the next.`;
  }
  for (const button of all("[data-theme-set]")) button.setAttribute("aria-pressed", String(button.dataset.themeSet === root.dataset.theme));
}

label();
for (const b of all("[data-theme-toggle]")) b.addEventListener("click", nextTheme);
for (const b of all("[data-theme-set]")) b.addEventListener("click", () => setTheme(b.dataset.themeSet));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new CustomEvent("lg:theme")));

for (const b of all("[data-zone-set]")) b.addEventListener("click", () => setZone(b.dataset.zoneSet));
setZone(zone());
setInterval(() => { if (!document.hidden) refreshTimes(); }, 5000);
document.body.addEventListener("htmx:afterSwap", (event) => refreshTimes(event.target));

/* -- rail and menus */

const rail = document.querySelector(".rail");
function toggleRail() {
  root.dataset.rail = rail.offsetWidth < 100 ? "wide" : "narrow";
  store("rail", root.dataset.rail);
  for (const b of all("[data-rail-toggle]")) b.setAttribute("aria-pressed", String(root.dataset.rail === "narrow"));
}
for (const b of all("[data-rail-toggle]")) b.addEventListener("click", toggleRail);

const menus = [...all("details.menu")];
document.addEventListener("click", (event) => {
  for (const menu of menus) if (menu.open && !menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && menus.find((one) => one.open);
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

/* -- rows of tabs and choices that are too long show the one that is chosen, and all of the one that has the focus */

for (const row of all(".tabs, .seg, .sections")) {
  const chosen = row.querySelector("[aria-current='page'], [aria-current='true']");
  if (chosen) row.scrollLeft = chosen.offsetLeft - row.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
}

document.addEventListener("focusin", (event) => {
  if (event.target.closest(".tabs, .seg")) event.target.scrollIntoView({ block: "nearest", inline: "nearest" });
});

/* -- tables that scroll sideways are reached by Tab, and then scrolled by the arrow keys */

function reachTables() {
  for (const table of all(".table-wrap")) {
    const named = table.closest("section, .card")?.querySelector("h2")?.textContent ?? "Table";
    const told = table.scrollWidth > table.clientWidth ? { tabindex: "0", role: "region", "aria-label": `${named}, scrolls sideways` } : {};
    for (const name of ["tabindex", "role", "aria-label"]) {
      if (told[name]) table.setAttribute(name, told[name]); else table.removeAttribute(name);
    }
  }
}
new ResizeObserver(reachTables).observe(document.getElementById("main"));
document.body.addEventListener("htmx:afterSettle", reachTables);

/* -- commands that are copied */

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const block = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(block);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});

/* -- keyboard. No key starts a rollback: data-key marks what a letter presses or opens. */

const dialog = document.getElementById("keys");
const places = new Map([...all("[data-go]")].map((link) => [link.dataset.go, link.href]));
let going = false;

function move(by) {
  const items = [...all("[data-item]")];
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))].focus();
}

function press(key) {
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const act = target?.closest("details.act");
  if (act) openAct(act); else target?.click();
  return Boolean(target);
}

const pause = () => { if (document.querySelector("[data-pause]")) setPaused(!isPaused()); };
const turnZone = () => setZone(nextZone());
const showKeys = () => dialog.showModal();
const seek = palette({ theme: nextTheme, zone: turnZone, pause, rail: toggleRail, keys: showKeys });

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  "?": showKeys,
  d: nextTheme,
  t: turnZone,
  p: pause,
  "/": () => { const own = document.querySelector("[data-search]"); if (own) own.focus(); else seek(""); },
};

document.addEventListener("keydown", (event) => {
  if (stored("keys") === "off") return;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, textarea, select, [contenteditable]")) return;
  if (going) {
    going = false;
    if (places.has(event.key)) location.assign(places.get(event.key));
  } else if (event.key === "g") {
    going = true;
    setTimeout(() => { going = false; }, 1200);
  } else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  } else if (press(event.key)) {
    event.preventDefault();
  } else {
    document.dispatchEvent(new CustomEvent("lg:key", { detail: event.key }));
  }
});

for (const b of all("[data-keys-open]")) b.addEventListener("click", showKeys);
function keysLabel() { for (const b of all("[data-keys-off]")) b.textContent = stored("keys") === "off" ? "Turn single keys on" : "Turn single keys off"; }
for (const b of all("[data-keys-off]")) b.addEventListener("click", () => { store("keys", stored("keys") === "off" ? "on" : "off"); keysLabel(); });
keysLabel();

/* What only works with this file is hidden until it has come. */
for (const node of all("[data-zone], [data-themes], [data-rail-toggle], [data-keys-open], [data-scripted]")) node.hidden = false;
