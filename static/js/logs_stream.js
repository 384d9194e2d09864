/* A search as the server finds lines: NDJSON, read part by part. */
import { request, SIGNED_OUT } from "./live.js";

/** Reads `url` and calls onPart with each part. Throws on trouble, AbortError when stopped.
    A busy server is asked again, twice. */
export async function read(url, { signal, onPart }) {
  const answer = await ask(url, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const pieces = (rest + value).split("\n");
    rest = pieces.pop();
    for (const piece of pieces) onPart(checked(JSON.parse(piece)));
  }
  if (rest) onPart(checked(JSON.parse(rest)));
}

/** JSON from `url`; throws with what the server says. */
export async function json(url, signal) {
  const answer = await ask(url, signal);
  return answer.json();
}

async function ask(url, signal, tries = 3) {
  const answer = await request(url, { signal });
  if (answer.ok) return answer;
  if (answer.status === 401) throw new Error(SIGNED_OUT);
  if (answer.status === 503 && tries > 1) {
    const wait = Number(answer.headers.get("Retry-After")) || 2;
    await new Promise((resolve) => { setTimeout(resolve, wait * 1000); });
    signal?.throwIfAborted();
    return ask(url, signal, tries - 1);
  }
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error || `the server answered ${answer.status}`);
}

function checked(part) {
  if (part.error) throw new Error(part.error);
  return part;
}
