/* Small figures: each [data-figure] node is drawn from the Plotly JSON it carries. */
/* global Plotly */
import { paint } from "./charts.js";
import { colour } from "./dom.js";

const CONFIG = { displayModeBar: false, responsive: true, showTips: false, scrollZoom: false };

function draw(node) {
  const figure = JSON.parse(node.dataset.figure);
  const { data, layout } = paint(figure);
  const small = matchMedia("(max-width: 700px)").matches;
  Object.assign(layout, {
    height: node.clientHeight,
    margin: { l: small ? 48 : 64, r: 12, t: 30, b: 42, pad: 0 },
    font: { family: getComputedStyle(document.body).fontFamily, size: small ? 11 : 12, color: colour("var(--grey)") },
    dragmode: false,
  });
  Plotly.react(node, data, layout, CONFIG);
}

function drawAll() {
  for (const node of document.querySelectorAll("[data-figure]")) draw(node);
}

drawAll();
document.addEventListener("lg:theme", drawAll);
