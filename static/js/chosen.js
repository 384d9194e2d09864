/* Boxes of a list: counted, ticked all at once, and kept when the list comes anew. The form works without this. */
const form = document.getElementById("chosen");
const boxes = () => [...document.querySelectorAll("input[form=chosen]")];
const ticked = () => boxes().filter((box) => box.checked);

function tell() {
  const all = boxes().length;
  const chosen = ticked().length;
  form.querySelector("[data-chosen]").textContent = chosen ? `${chosen} of ${all} chosen` : "";
  form.querySelector("[data-choose-all]").textContent = chosen === all ? "Choose none" : "Choose all";
}

const every = form.querySelector("[data-choose-all]");
every.hidden = false;
every.addEventListener("click", () => {
  const choose = ticked().length < boxes().length;
  for (const box of boxes()) box.checked = choose;
  tell();
});
document.addEventListener("change", (event) => { if (event.target.matches("input[form=chosen]")) tell(); });
let kept = new Set();
// Right after the swap: until it has settled, another part of the page may be swapped, or somebody may tick a box.
document.body.addEventListener("htmx:beforeSwap", () => { kept = new Set(ticked().map((box) => box.value)); });
document.body.addEventListener("htmx:afterSwap", () => {
  for (const box of boxes()) box.checked = kept.has(box.value);
  tell();
});
tell();
