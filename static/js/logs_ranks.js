/* The tab of the ranks: the matrix at full size; what is chosen in it opens as lines. */
import { request } from "./live.js";
import { Matrix, unpack } from "./logs_matrix.js";

const BUCKETS = 400;
const AGAIN_MS = 5000;
const state = JSON.parse(document.querySelector("#logs-state").dataset.state);
const readout = document.querySelector("[data-readout]");
const own = new URLSearchParams(state.address.slice(1));

const page = {
  readout: (text) => { readout.textContent = text; },
  go(changes) {
    for (const [name, value] of Object.entries(changes)) if (value) own.set(name, value);
    location.assign(`${state.page}?${own}`);
  },
};
const matrix = new Matrix(document.querySelector("[data-matrix]"), page);

async function load() {
  const query = new URLSearchParams(own);
  query.set("buckets", String(BUCKETS));
  const answer = await request(`${state.urls.matrix}?${query}`);
  if (answer.ok) matrix.show(unpack(await answer.arrayBuffer()));
  else page.readout(`The matrix is missing: the server answered ${answer.status}`);
}

function redraw() {
  matrix.image = null;
  matrix.draw();
}
for (const name of ["lg:theme", "lg:zone"]) document.addEventListener(name, redraw);
new ResizeObserver(redraw).observe(document.querySelector("[data-overview]"));
let again = null;
document.body.addEventListener("live", () => {
  again ??= setTimeout(() => { again = null; load(); }, AGAIN_MS);
});
load();
