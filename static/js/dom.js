/* Elements without string-built HTML. */
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; a null attribute is left out. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** The value stored in this browser under `name`, or null. */
export function stored(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

/** Stores a value in this browser, if it allows that. */
export function store(name, value) {
  try { localStorage.setItem(name, value); } catch { /* private mode: the choice lasts a page */ }
}

/** Opens a form that is folded away, at its first field. */
export function openAct(act) {
  act.open = true;
  act.querySelector("input[type=text], textarea")?.focus();
}

let probe;
/** A CSS colour such as "var(--blue)" as the browser resolves it now: "rgb(...)". */
export function colour(css) {
  if (!probe) {
    probe = el("span", { hidden: "" });
    probe.style.forcedColorAdjust = "none"; // what a canvas says by colour it says where colours are forced, too
    document.body.append(probe);
  }
  probe.style.color = css;
  return getComputedStyle(probe).color;
}

/** A CSS length property of the root in pixels. */
export function pixels(name) {
  return parseFloat(getComputedStyle(document.documentElement).getPropertyValue(name)) || 0;
}

/** 4 significant digits, with the minus that people read; NaN and infinities by name. Mirrors the `number` filter of
    the server. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : fourDigits(value).replaceAll("-", "−");
}

function fourDigits(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toPrecision(3);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
