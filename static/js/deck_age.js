/* How old what the deck shows is: a grey clock with its age, and a hatched right edge. Silence says
   nothing about the run: whether it is out of contact, the head of the page tells. */
import { contact } from "./live.js";
import { clock, duration, serverNow } from "./time.js";

const LOOK_MS = 2000;

export class Age {
  constructor(deck) {
    this.deck = deck;
    this.lost = false;
    this.stale = false;
    document.body.addEventListener("live-state", () => this.look());
    document.addEventListener("lg:zone", () => this.look());
    document.addEventListener("visibilitychange", () => this.look());
    setInterval(() => this.look(), LOOK_MS);
  }

  /** Whether the server answered the newest question. */
  reached(did) {
    this.lost = !did;
    this.look();
  }

  look() {
    if (document.hidden || !this.deck.data) return;
    const words = this.words();
    const node = this.deck.part("[data-age]");
    node.hidden = !words;
    node.querySelector("[data-age-text]").textContent = words;
    if (this.stale === Boolean(words)) return;
    this.stale = Boolean(words);
    this.deck.root.toggleAttribute("data-stale", this.stale);
    this.deck.overlays();
  }

  /** Why what is shown may not be the newest, "" if it is. */
  words() {
    const { heard } = this.deck.data;
    const upTo = heard ? `, data up to ${clock(heard.ms)}` : "";
    if (contact() === "signed out") return `signed out${upTo}`;
    if (this.lost || contact() === "reconnecting") return `reconnecting${upTo}`;
    if (contact() === "paused") return `paused${upTo}`;
    if (!heard) return "";
    const age_s = (serverNow() - heard.ms) / 1000;
    return age_s > heard.stale_s ? `no new data for ${duration(age_s)}` : "";
  }
}
