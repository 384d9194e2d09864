/* Buttons that copy a prepared command. Without this script its text can be selected. */
const said = document.querySelector("[data-copied]");

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied. Look at it once more before you run it.";
    } catch {
      said.textContent = "The browser did not let the page copy it: select the text instead.";
    }
  });
}

document.getElementById("error")?.focus();
