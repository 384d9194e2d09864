/* A link of a message to a form of an incident (#silence-why) finds it open. */
import { openAct } from "./dom.js";

const act = location.hash && document.getElementById(location.hash.slice(1))?.closest("details.act");
if (act) openAct(act);
