/* Buttons that copy a prepared command (app.js copies). Without scripts its text can be selected. */
const said = document.querySelector("[data-copied]");

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => { said.textContent = "Look at it once more before you run it."; });
}

document.getElementById("error")?.focus();
