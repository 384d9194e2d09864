/* Keys of an incident's page: a acknowledges, s and n open their forms. None starts a rollback.
   A link of a message to a form (#silence-why) finds it open. */
function open(act) {
  act.open = true;
  act.querySelector("input[type=text], textarea")?.focus();
}

document.addEventListener("lg:key", (event) => {
  const target = document.querySelector(`[data-key="${CSS.escape(event.detail)}"]`);
  const act = target?.closest("details");
  if (act) open(act);
  else target?.click();
});

const asked = location.hash && document.getElementById(location.hash.slice(1))?.closest("details.act");
if (asked) open(asked);
