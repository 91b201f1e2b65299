import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";
import { scheduler, setInterval as every, setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { Sandbox, sandboxTest } from "./mockserver.mjs";

const SESSIONS = "/v1/entrypoints/chatapp/connection-sessions";
const really = setTimeout;

/** Return how many real milliseconds an act takes. */
async function elapsed(act) {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

function clockTest(name, run) {
  sandboxTest(name, { scenario: "demo" }, async (sandbox, t) => {
    await sandbox.useClock();
    await run(sandbox, t);
  });
}

/** A server that answers after 400 real milliseconds, and never below /never. */
async function slow(t, answer = (respond) => really(respond, 400)) {
  const server = http.createServer((request, response) => request.url !== "/never" && answer(() => response.end("ok")));
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${server.address().port}`;
}

clockTest("a poll of twenty minutes ends in seconds", async (sandbox) => {
  const { sessionId } = (await sandbox.call("POST", SESSIONS, {})).body;
  let polls = 0;
  const took = await elapsed(async () => {
    while ((await sandbox.call("GET", `${SESSIONS}/${sessionId}`)).body.status === "pending") {
      polls++;
      await new Promise((resolve) => setTimeout(resolve, 15_000));
    }
  });
  assert.equal(polls, 80);
  assert.ok(took < 20_000, `${took} ms`);
});
clockTest("each form of a timer waits on the clock", async (sandbox) => {
  const began = Date.now();
  assert.equal(await delay(1000, "value"), "value");
  await promisify(setTimeout)(1000);
  await scheduler.wait(1000);
  let rounds = 0;
  for await (const _ of every(1000)) if (++rounds === 3) break;
  let ticks = 0;
  const interval = setInterval(() => ticks++, 1000);
  setTimeout(assert.fail, 500).close();
  clearTimeout(Number(setTimeout(assert.fail, 500)));
  const late = setTimeout(assert.fail, 1500);
  await delay(1000);
  late.refresh();
  await delay(1000);
  clearTimeout(late);
  await delay(8500);
  clearInterval(interval);
  assert.equal(ticks, 10);
  assert.equal(Date.now() - began, 16_500);
  assert.equal(Date.parse((await sandbox.control("GET", "/clock")).now), Date.now());
  assert.ok(new Date() instanceof Date && Date().includes(`${new Date().getFullYear()}`));
});
clockTest("an abort ends a wait at its instant", async () => {
  const began = Date.now();
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 5000);
  await assert.rejects(delay(60_000, 1, { signal: controller.signal }), { name: "AbortError", code: "ABORT_ERR" });
  await assert.rejects(delay(60_000, 1, { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(Date.now() - began, 5000);
});
clockTest("a clock that the test advances runs the timers on the way", async (sandbox) => {
  let has = false;
  setTimeout(() => (has = true), 60_000);
  await sandbox.control("POST", "/clock/advance", { by: "1h" });
  await delay(1000);
  assert.ok(has);
});
clockTest("a sleep does not end before the requests in flight", async (_, t) => {
  const url = await slow(t);
  const order = [];
  await Promise.all([
    delay(30_000).then(() => order.push("sleep")),
    fetch(url).then((answer) => answer.text()).then(() => order.push("fetch")),
    new Promise((resolve) => http.get(url, (answer) => answer.resume().on("end", resolve))).then(() => order.push("http")),
  ]);
  assert.equal(order[2], "sleep");
});
clockTest("the timeout of a request in flight takes its real time", async (_, t) => {
  const url = `${await slow(t)}/never`;
  const took = await elapsed(async () => {
    const controller = new AbortController();
    const timeout = setTimeout(() => controller.abort(), 300);
    await assert.rejects(fetch(url, { signal: controller.signal }));
    clearTimeout(timeout);
  });
  assert.ok(took > 290, `${took} ms`);
});
clockTest("an answer that nobody reads does not hold the clock", async (sandbox) => {
  const url = `${sandbox.baseUrl}/v1/campaigns`;
  await fetch(url);
  const answer = await new Promise((resolve) => http.get(url, resolve));
  assert.ok((await elapsed(() => delay(5_000))) < 4_000);
  answer.resume();
});
clockTest("a receiver that waits is waited for", async (sandbox, t) => {
  const url = await slow(t, (respond) => setTimeout(respond, 100));
  await sandbox.control("POST", "/webhooks", { url });
  const { sessionId } = (await sandbox.call("POST", SESSIONS, {})).body;
  await sandbox.control("POST", `/sessions/${sessionId}/complete`, {});
  await sandbox.call("POST", SESSIONS, {});
  await delay(21 * 60_000); // the second session expires on the way
  const { events } = await sandbox.control("GET", "/events");
  assert.deepEqual(events.map((each) => each.deliveries[0].attempts.map((attempt) => attempt.status)), [[200], [200]]);
});
clockTest("two clocks at a time are refused", async (sandbox) => {
  await assert.rejects(sandbox.useClock(), /on the clock of another sandbox/);
});
sandboxTest("without it a timer takes its real time", {}, async (sandbox) => {
  assert.ok((await elapsed(() => delay(100))) > 95);
  assert.ok(Math.abs(Date.now() - performance.timeOrigin - performance.now()) < 60_000);
});
