/* Runs before the first paint, so that a chosen theme does not flash. Classic script on purpose. */
(() => {
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  document.documentElement.dataset.theme = stored("theme") || "system";
  document.documentElement.dataset.zone = stored("zone") || "utc";
})();
