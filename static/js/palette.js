/* The palette: one search over runs, incidents, hosts and pages. Its links lead to pages that are there without it. */
import { el, svg } from "./dom.js";
import { request } from "./live.js";

const SOON_MS = 120;
const SPRITE = document.querySelector(".icon use")?.getAttribute("href").split("#")[0];
const WORDS = { "": "Search runs, incidents, hosts, pages", Projects: "Choose a project" };

let box, field, list, status;
let kind = "";
let timer = null;
let asking = null;
let doing = {};

const options = () => [...list.querySelectorAll("[role=option]")];
const chosen = () => list.querySelector("[aria-selected=true]");
const icon = (name) => svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `${SPRITE}#${name}` }));

function build() {
  field = el("input", { type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", maxlength: "100" });
  list = el("div", { id: "palette-list", role: "listbox", "aria-label": "Found" });
  status = el("p", { class: "palette-foot", role: "status" });
  box = el("dialog", { class: "palette", "aria-label": "Search" }, el("div", { class: "palette-head" }, icon("search"), field, el("kbd", {}, "Esc")), list, status);
  document.body.append(box);
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, SOON_MS); });
  field.addEventListener("keydown", keys);
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  box.addEventListener("close", () => asking?.abort());
}

function keys(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) {
    event.preventDefault();
    const all = options();
    choose(all[(all.indexOf(chosen()) + by + all.length) % all.length]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (chosen()) take(chosen());
  }
}

function choose(option) {
  chosen()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
}

function take(option) {
  box.close();
  if (option.dataset.act) doing[option.dataset.act]();
  else location.assign(option.dataset.url);
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  const url = new URL("/search.json", location.href);
  url.searchParams.set("q", field.value);
  url.searchParams.set("kind", kind);
  try {
    const answer = await request(url, { signal: asking.signal });
    if (!answer.ok) throw new Error(String(answer.status));
    show((await answer.json()).groups);
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = "The search does not answer. Reload the page, or try again.";
  }
}

function show(groups) {
  let number = 0;
  const option = (hit) => {
    const node = el("div", { role: "option", id: `palette-${number++}`, class: "hit", "aria-selected": "false", "data-url": hit.url, "data-act": hit.act || null }, icon(hit.icon), el("strong", {}, hit.title), el("span", { class: "muted" }, hit.note));
    node.addEventListener("click", () => take(node));
    node.addEventListener("pointermove", () => { if (node !== chosen()) choose(node); });
    return node;
  };
  list.replaceChildren(...groups.map((group) => el("div", { role: "group", "aria-label": group.kind }, el("p", { class: "palette-kind", "aria-hidden": "true" }, group.kind), ...group.hits.map(option))));
  status.textContent = number ? `${number} found` : `Nothing fits “${field.value}”.`;
  choose(options()[0]);
}

/** Opens the palette for all kinds (""), or for one of them. */
function open(only) {
  if (!box) build();
  kind = only;
  field.value = "";
  field.placeholder = WORDS[only];
  field.setAttribute("aria-label", WORDS[only]);
  list.replaceChildren();
  status.textContent = "";
  if (!box.open) box.showModal();
  ask();
}

/** Lets links and Ctrl+K open the palette; acts: name -> what the browser does. Returns open(). */
export function palette(acts) {
  doing = acts;
  for (const link of document.querySelectorAll("[data-palette]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open(link.dataset.palette);
    });
  }
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open("");
    }
  });
  return open;
}
