/* One line opened: its facts, what to do with it, and what its file says around it. */
import { json } from "./logs_stream.js";
import { lineOf } from "./logs_rows.js";
import { exact } from "./time.js";

const MORE = 20;
const NEAR_MS = 30000;
const template = document.querySelector("template[data-detail]")?.content.firstElementChild;

export const textOf = (line) => [...line.querySelector(".tx").childNodes]
  .filter((node) => !node.classList?.contains("cut")).map((node) => node.textContent).join("");

/** Opens or closes a line; the panel, or null if it is closed now. */
export function toggle(line, page) {
  const open = line.querySelector(":scope > .detail");
  if (open) {
    open.remove();
    line.removeAttribute("aria-expanded");
    return null;
  }
  const panel = template.cloneNode(true);
  const data = line.dataset;
  const facts = { ...data, time: exact(data.ns), seq: data.seq };
  for (const node of panel.querySelectorAll("[data-fact]")) {
    const value = facts[node.dataset.fact];
    if (value) node.textContent = value;
    else node.parentElement.remove();
  }
  for (const name of ["rank", "node", "source"]) {
    if (!data[name]) panel.querySelector(`[data-do=${name}]`).remove();
  }
  const health = panel.querySelector("[data-host]");
  if (data.node) health.href = health.dataset.host.replace("NAME", data.node.split("/").map(encodeURIComponent).join("/"));
  else health.remove();
  panel.addEventListener("click", (event) => {
    const what = event.target.closest("[data-do]")?.dataset.do;
    if (what) DO[what](line, page, panel);
  });
  line.append(panel);
  panel.scrollIntoView({ block: "nearest" });
  whole(line, page, panel);
  return panel;
}

/** All of the line, its bytes where they are not its text, and its pattern. */
async function whole(line, page, panel) {
  const { text, original, template } = await json(`${page.urls.line}?at=${line.dataset.at}`).catch(() => ({}));
  if (line.querySelector(".cut") && text) line.querySelector(".tx").replaceChildren(text);
  const pattern = panel.querySelector("[data-do=template]");
  pattern.hidden = !template;
  pattern.dataset.template = template;
  if (!original) return;
  const box = panel.querySelector("[data-original]");
  box.querySelector("pre").textContent = original;
  box.hidden = false;
}

const DO = {
  copy: (line, page) => copy(textOf(line), page, "the text of the line"),
  link: (line, page) => copyLink(line, page),
  rank: (line, page) => page.go({ rank: line.dataset.rank, at: line.dataset.at }),
  node: (line, page) => page.go({ node: line.dataset.node, at: line.dataset.at }),
  source: (line, page) => page.go({ source: line.dataset.source.replace(/#\d+$/, ""), at: line.dataset.at }),
  template: (line, page, panel) => {
    const { template } = panel.querySelector("[data-do=template]").dataset;
    page.go({ template, at: line.dataset.at });
  },
  near: (line, page) => {
    const ms = Number(line.dataset.ns.slice(0, -6));
    page.go({ q: "", from: iso(ms - NEAR_MS), to: iso(ms + NEAR_MS), at: line.dataset.at });
  },
  context: (line, page, panel) => context(line, page, panel, MORE, MORE),
  above: (line, page, panel) => context(line, page, panel, Number(panel.dataset.above) + MORE, Number(panel.dataset.below)),
  below: (line, page, panel) => context(line, page, panel, Number(panel.dataset.above), Number(panel.dataset.below) + MORE),
};

const iso = (ms) => new Date(ms).toISOString();

/** Opens a line with its context at once. */
export function openContext(line, page) {
  const panel = line.querySelector(":scope > .detail") ?? toggle(line, page);
  return context(line, page, panel, MORE, MORE);
}

async function context(line, page, panel, above, below) {
  const box = panel.querySelector("[data-context]");
  const url = `${page.urls.around}?at=${line.dataset.at}&lines_before=${above}&lines_after=${below}`;
  try {
    const { lines } = await json(url);
    const at = lines.findIndex((one) => one.at === line.dataset.at);
    const model = page.rows.template;
    const made = lines.map((one) => lineOf(model, one, page.address()));
    for (const node of made) node.removeAttribute("data-item");
    box.querySelector("ol").replaceChildren(...made);
    box.querySelector("[data-do=above]").hidden = at < above;
    box.querySelector("[data-do=below]").hidden = lines.length - 1 - at < below;
    Object.assign(panel.dataset, { above, below });
    const first = box.hidden;
    box.hidden = false;
    made[at]?.setAttribute("aria-current", "true");
    if (first) made[at]?.scrollIntoView({ block: "center" });
    panel.querySelector("[data-do=context]")?.remove();
  } catch (error) {
    page.say(`No context: ${error.message}`, "errors");
  }
}

export function copyLink(line, page) {
  copy(new URL(line.querySelector(".t").getAttribute("href"), location.href).href, page, "the permalink of the line");
}

async function copy(text, page, what) {
  try {
    await navigator.clipboard.writeText(text);
    page.say(`Copied ${what}.`);
  } catch {
    page.say(`The browser did not let the page copy ${what}.`, "errors");
  }
}
