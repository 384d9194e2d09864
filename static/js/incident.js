/* Keys of an incident's page: a acknowledges, s and n open their forms. None starts a rollback. */
document.addEventListener("lg:key", (event) => {
  const target = document.querySelector(`[data-key="${CSS.escape(event.detail)}"]`);
  if (!target) return;
  target.click();
  target.parentElement.querySelector("input[type=text], textarea")?.focus();
});
