/* Any row of the deck as a table in a dialog: the same data, to be read, sorted and copied. */
import { el, number } from "./dom.js";
import { clock } from "./time.js";

const MOST = 2000;
let dialog;

/** heads: names of columns; lines: rows of cells. A column called "time" holds Unix ms. */
export function openTable(title, caption, heads, lines) {
  dialog?.remove();
  const body = el("tbody");
  const shown = lines.slice(0, MOST);
  const fill = () => body.replaceChildren(...shown.map((line) => el("tr", {}, ...line.map((cell, i) => (
    el("td", typeof cell === "number" ? { class: "num" } : {}, text(cell, heads[i])))))));
  const sort = (i, button) => {
    const down = button.dataset.order !== "down";
    button.dataset.order = down ? "down" : "up";
    for (const head of row.children) head.removeAttribute("aria-sort");
    button.parentElement.setAttribute("aria-sort", down ? "descending" : "ascending");
    shown.sort((a, b) => (a[i] > b[i] ? 1 : a[i] < b[i] ? -1 : 0) * (down ? -1 : 1));
    fill();
  };
  const row = el("tr", {}, ...heads.map((head, i) => {
    const button = el("button", { type: "button", class: "btn quiet" }, head);
    button.addEventListener("click", () => sort(i, button));
    return el("th", { scope: "col" }, button);
  }));
  fill();
  const left = lines.length > MOST ? `; the first ${number(MOST)} of ${number(lines.length)} rows` : "";
  dialog = el("dialog", { class: "deck-table", "aria-label": `${title} as a table` },
    el("form", { method: "dialog" }, el("h2", {}, title), el("button", { class: "btn" }, "Close")),
    el("div", { class: "table-wrap" }, el("table", {}, el("caption", {}, `${caption}${left}`), el("thead", {}, row), body)));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

function text(cell, head) {
  if (head === "time" && typeof cell === "number") return clock(cell);
  if (head === "step" && typeof cell === "number") return cell.toLocaleString("en-US");
  return typeof cell === "number" ? number(cell) : cell ?? "";
}
