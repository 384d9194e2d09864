/* Runs before the first paint, so that what a person has chosen does not flash. Classic script on purpose. */
(() => {
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const chosen = document.documentElement.dataset;
  chosen.theme = stored("theme") || "system";
  chosen.zone = stored("zone") || "utc";
  if (stored("rail")) chosen.rail = stored("rail");
})();
