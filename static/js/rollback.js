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
  if (event.target.name !== "choice") return;
  sessionStorage.setItem("choosing", "yes");
  form.requestSubmit(form.querySelector("[data-preview]"));
});
/* The page comes anew with each choice: whoever walks the list by arrow keys goes on where he was. */
if (sessionStorage.getItem("choosing")) {
  sessionStorage.removeItem("choosing");
  form.querySelector("[name=choice]:checked")?.focus();
}
/* Enter in a field shows the preview; only a click orders. */
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("input")) {
    event.preventDefault();
  }
});
document.getElementById("error")?.focus();
update();
