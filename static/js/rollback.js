/* The drawer works without this: here the button wakes up when the typed step is right, and
   another checkpoint shows its preview at once. No shortcut, no default button. */
const form = document.querySelector("[data-drawer]");
const order = form.querySelector("[data-order]");
const confirm = form.querySelector("#confirm");

function update() {
  if (!order) return;
  const typed = confirm.value.replaceAll(",", "").trim();
  order.disabled = typed !== confirm.dataset.expected || !form.reason.value.trim();
}

form.addEventListener("input", update);
form.addEventListener("change", (event) => {
  if (event.target.name === "choice") form.requestSubmit(form.querySelector("[data-preview]"));
});
/* Enter in a field shows the preview; only a click orders. */
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("input")) {
    event.preventDefault();
  }
});
document.getElementById("error")?.focus();
update();
