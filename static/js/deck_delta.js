/* What an answer of the deck leaves out because this page has it: apps/dashboard/delta.py says how. */
const growing = (chart, roles) => chart.figure.data.filter((trace) => roles.includes(trace.meta.role));

/** The whole answer of which `delta` was sent; `had`: the answer that its mark was taken from, or
    null. Neither is changed; what is the same is the same object. */
export function merged(had, delta) {
  const { kept, growing: roles, ...found } = delta;
  for (const name of kept) found[name] = had[name];
  if (!delta.charts) return found;
  found.charts = Object.fromEntries(Object.entries(delta.charts).map(([name, chart]) => [name, chart ? longer(had?.charts[name], chart, roles) : had.charts[name]]));
  return found;
}

/** Whether a delta brings anything. */
export function isNews({ kept, growing: roles, charts, mark, ...rest }) {
  return Object.keys(rest).length > 0 || Object.values(charts ?? {}).some(Boolean);
}

/** A chart with its ends put behind what was there. */
function longer(old, chart, roles) {
  let before;
  const data = chart.figure.data.map((trace) => {
    if (!("keep" in trace)) return trace;
    before ??= growing(old, roles).values();
    const { keep, ...end } = trace;
    const begin = before.next().value;
    return { ...begin, ...end, x: begin.x.slice(0, keep).concat(trace.x), y: begin.y.slice(0, keep).concat(trace.y) };
  });
  return { ...chart, figure: { ...chart.figure, data } };
}
