/* One zone switch for the whole page: UTC, local or the cluster's, with the zone always named. */
import { store } from "./dom.js";

const two = (n) => String(n).padStart(2, "0");
const CLUSTER = document.body.dataset.clusterZone;
const ZONES = CLUSTER ? ["utc", "local", "cluster"] : ["utc", "local"];
const there = CLUSTER && new Intl.DateTimeFormat("en-US", {
  timeZone: CLUSTER, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
});

/** The chosen zone: utc, local or cluster; what this server no longer knows is UTC. */
export const zone = () => (ZONES.includes(document.documentElement.dataset.zone) ? document.documentElement.dataset.zone : "utc");
export const nextZone = () => ZONES[(ZONES.indexOf(zone()) + 1) % ZONES.length];

/** The parts of a moment in the chosen zone: year to second, milliseconds. */
function parts(ms) {
  const d = new Date(ms);
  if (zone() === "utc") return [d.getUTCFullYear(), d.getUTCMonth() + 1, d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds(), d.getUTCMilliseconds()];
  if (zone() === "local") return [d.getFullYear(), d.getMonth() + 1, d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds(), d.getMilliseconds()];
  const named = Object.fromEntries(there.formatToParts(d).map((part) => [part.type, Number(part.value)]));
  return [named.year, named.month, named.day, named.hour, named.minute, named.second, d.getUTCMilliseconds()];
}

export function clock(ms) {
  const [y, mo, d, h, mi, s] = parts(ms);
  const name = { utc: "UTC", local: "local", cluster: CLUSTER }[zone()];
  return `${y}-${two(mo)}-${two(d)} ${two(h)}:${two(mi)}:${two(s)} ${name}`;
}

export function timeOfDay(ms, withMs = false) {
  const [, , , h, mi, s, milli] = parts(ms);
  return `${two(h)}:${two(mi)}:${two(s)}${withMs ? "." + String(milli).padStart(3, "0") : ""}`;
}

/** Day and time of a log line, as the `line_time` filter of the server. */
function lineTime(ms) {
  const [, mo, d] = parts(ms);
  return `${two(mo)}-${two(d)} ${timeOfDay(ms, true)}`;
}

/** A moment with all nine digits; ns: a text of digits, as no number holds it. */
export function exact(ns) {
  const [day, time, name] = clock(Number(ns.slice(0, -6))).split(" ");
  return `${day} ${time}.${ns.slice(-9)} ${name}`;
}

/** How long, in the two largest units. Mirrors the `duration` filter of the server. */
export function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/* The server's clock rules: a laptop that is wrong by hours must not make data look old. */
const skew = Number(document.body.dataset.now || Date.now()) - Date.now();
export const serverNow = () => Date.now() + skew;

/** Rewrites every <time data-ms> below `root` for the chosen zone and the present moment. */
export function refreshTimes(root = document) {
  for (const node of root.querySelectorAll("time[data-ms]")) {
    const ms = Number(node.dataset.ms);
    const text = node.dataset.as === "ago" ? `${duration((serverNow() - ms) / 1000)} ago`
      : node.dataset.as === "line" ? lineTime(ms) : node.dataset.as === "ms" ? timeOfDay(ms, true) : clock(ms);
    if (node.textContent !== text) node.textContent = text;
    const title = node.dataset.ns ? exact(node.dataset.ns) : clock(ms);
    if (node.title !== title) node.title = title;
  }
}

export function setZone(name) {
  document.documentElement.dataset.zone = name;
  store("zone", name);
  for (const button of document.querySelectorAll("[data-zone-set]")) {
    button.setAttribute("aria-pressed", String(button.dataset.zoneSet === name));
  }
  refreshTimes();
  document.dispatchEvent(new CustomEvent("lg:zone"));
}
