// A client on fetch, careful or with the bug that its argument names.
import "./clock.mjs";
import { Refused, launch, report, sleep } from "./work.mjs";

const ATTEMPTS = 5;
const { MOCKSERVER_URL, MOCKSERVER_KEY } = process.env;
const bug = process.argv[2];

async function send(method, path, body) {
  for (let attempt = 1; ; attempt++) {
    const headers = { "X-API-Key": MOCKSERVER_KEY, "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(10_000);
    const answer = await fetch(MOCKSERVER_URL + path, { method, headers, signal, body: JSON.stringify(body) });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text);
    if (answer.status !== 429 || attempt === ATTEMPTS) throw new Refused(`${answer.status} ${text}`);
    if (bug !== "impatient") await sleep(requested(answer.headers.get("Retry-After")) ?? 1000 * 2 ** attempt);
  }
}

/** Return the milliseconds that a Retry-After asks for, in seconds or by a date. */
function requested(text) {
  if (text === null) return undefined;
  return Number.isNaN(Number(text)) ? Date.parse(text) - Date.now() : 1000 * Number(text);
}

async function startAgain(send, id) {
  const start = () => send("POST", `/v1/campaigns/${id}/start`, {});
  await start().catch((failure) => (failure instanceof Refused ? Promise.reject(failure) : sleep(5000).then(start)));
}

const changes = { endless: { final: ["completed"] }, double: { start: startAgain } };
await report(launch(send, changes[bug]));
