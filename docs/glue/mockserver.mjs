import { AsyncResource } from "node:async_hooks";
import { spawn } from "node:child_process";
import { createHmac, timingSafeEqual } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { relative } from "node:path";
import { test } from "node:test";
import timers from "node:timers";
import promises from "node:timers/promises";
import { promisify } from "node:util";

const { env } = process;
const COMMAND = ["serve", "--port=0", "--freeze=2026-03-01T12:00:00Z", "--failures-dir=.mockserver/failures", "--log-format=off", "--exit-with-parent"];

/** Start a server that ends with this process, and return its address. */
async function start() {
  const server = spawn("mockserver", COMMAND, { stdio: ["ignore", "pipe", "inherit"] });
  const [printed] = await Promise.race([once(server.stdout, "data"), once(server, "exit")]).catch((failure) => [failure.message]);
  const [, address] = /listens on (\S+)/.exec(`${printed}`) ?? [];
  if (!address) throw new Error(`mockserver serve did not start (${printed}); expected the command mockserver on the PATH, or an address in MOCKSERVER_SERVER`);
  server.unref(), server.stdout.destroy(); // or this process would wait for its end
  return address;
}
export const url = env.MOCKSERVER_SERVER || (await start());

/** @param {string} method @param {string} target @param {unknown} [body] @param {Record<string, string>} [headers] */
async function send(method, target, body, headers = {}) {
  const all = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
  const response = await fetch(target, { method, headers: all, body: JSON.stringify(body) }).catch((failure) => Promise.reject(failure.cause ?? failure));
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
}

/** @typedef {{ sandboxId: string, baseUrl: string, secretKey: string, publicKey?: string }} Made */
/** A sandbox: a fresh copy of the service with its own address, keys, data and clock. */
export class Sandbox {
  /** @type {Clock | undefined} */
  #clock;
  /** @type {import("node:http").Server[]} */
  #receivers = [];
  /** Without an argument it is the sandbox that `mockserver explore` has made for this process. @param {Made} [made] */
  constructor(made = { sandboxId: "", baseUrl: `${env.MOCKSERVER_URL}`, secretKey: `${env.MOCKSERVER_KEY}`, publicKey: env.MOCKSERVER_PUBLIC_KEY ?? "" }) {
    this.sandboxId = made.sandboxId;
    this.baseUrl = made.baseUrl;
    this.secretKey = made.secretKey;
    this.publicKey = made.publicKey ?? "";
  }
  /** Make a sandbox with settings of POST /_mock/sandboxes. @param {object} [settings] */
  static async open(settings = {}) {
    const server = new Sandbox({ sandboxId: "default", baseUrl: url, secretKey: "" });
    return new Sandbox(await server.control("POST", "/sandboxes", settings));
  }
  /** Call the API with the secret key. @param {string} method @param {string} path @param {unknown} [body] */
  call(method, path, body) {
    return send(method, this.baseUrl + path, body, { "X-API-Key": this.secretKey });
  }
  /** Run a command of the control plane. @param {string} method @param {string} path @param {unknown} [body] */
  async control(method, path, body) {
    const authorization = `Bearer ${env.MOCKSERVER_TOKEN ?? ""}`; // for a server that requires a token
    const response = await send(method, `${this.baseUrl}/_mock${path}`, body, { Accept: "application/json", authorization });
    if (response.status >= 400 || (path === "/journal/verify" && !response.body.ok)) throw new Error(`${method} ${path.split("?")[0]}: ${response.body.message}`);
    if (path.startsWith("/clock")) this.#clock?.set(response.body.now);
    return response.body;
  }
  /** Return the report of a failed test, of which the server keeps files; or why there is none. @param {string} name @param {any} failure */
  async report(name, failure) {
    const query = new URLSearchParams({ name, failure: `${failure?.message ?? failure}`.slice(0, 500) });
    const why = (/** @type {any} */ problem) => `(no report: ${problem.message || problem.code})`;
    return this.control("POST", `/report?${query}`).then((report) => report.text, why);
  }
  /** Put the timers and the date of this process on the sandbox's clock, until `close`. */
  async useClock() {
    const { now } = await this.control("PUT", "/clock", { freeze: true });
    this.#clock = new Clock(now, (ms) => this.control("POST", "/clock/advance", { by: `${ms}ms` }));
  }
  /** Receive events, verified. @param {{ events?: any[], seconds?: number }} [options] */
  async receive({ events = [], seconds = 300 } = {}) {
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray());
      const [id, at, given] = ["id", "timestamp", "signature"].map((name) => `${request.headers[`webhook-${name}`]}`);
      const key = Buffer.from(webhook.secret.replace("whsec_", ""), "base64");
      const own = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest();
      const signatures = given.split(" ").map((each) => Buffer.from(each.replace("v1,", ""), "base64"));
      const isValid = Math.abs(real.Date.now() / 1000 - Number(at)) < seconds && signatures.some((each) => each.length === own.length && timingSafeEqual(each, own));
      if (isValid) events.push(JSON.parse(body.toString()));
      response.writeHead(isValid ? 204 : 401).end();
    });
    const host = env.MOCKSERVER_RECEIVER_HOST; // by which a server in a container or on another machine reaches this one
    await once(server.listen(0, host ? "0.0.0.0" : "127.0.0.1"), "listening");
    this.#receivers.push(server);
    const { port } = /** @type {{ port: number }} */ (server.address());
    const webhook = await this.control("POST", "/webhooks", { url: `http://${host || "127.0.0.1"}:${port}/` });
    return events;
  }
  /** End the sandbox, its receivers and its hold on the timers. */
  async close() {
    this.#clock?.close();
    for (const receiver of this.#receivers.splice(0)) receiver.close().closeAllConnections();
    if (this.sandboxId) await this.control("DELETE", `/sandboxes/${this.sandboxId}`).catch(() => {}); // it may have ended before, with its server
  }
}

// Ends of tests that still run, by name, for a runner that gives a test no hook of its own.
const ends = /** @type {Map<(failure?: any) => unknown, string>} */ (new Map());
const { afterEach, expect } = /** @type {any} */ (globalThis); // of Jest and Mocha
const jestState = () => expect?.getState?.() ?? {};
afterEach?.(/** @this {any} */ async function () {
  const name = this?.currentTest?.title ?? jestState().currentTestName ?? "";
  for (const [end, title] of ends) if (name.endsWith(title)) await end(this?.currentTest?.err);
});

/** Put the report behind the message of a failure, which keeps its type, its place and its difference. */
function withReport(/** @type {any} */ failure, /** @type {string} */ report) {
  if (typeof failure?.message !== "string") return new Error(`${failure}\n\n${report}`);
  const { message, stack } = failure;
  const value = `${message}\n\n${report}`;
  if (failure.generatedMessage) failure.generatedMessage = false; // of node:assert, or Jest would print a message of its own
  Reflect.defineProperty(failure, "message", { value, configurable: true, writable: true });
  if (stack) Reflect.defineProperty(failure, "stack", { value: stack.replace(message, () => value), configurable: true, writable: true });
  return failure;
}
const isSkip = (/** @type {any} */ failure) => /pending/i.test(`${failure?.code} ${failure?.constructor?.name}`); // of Vitest and Mocha

/** @typedef {import("node:test").TestContext} TestContext */
/**
 * Define a test with a sandbox of its own; a rule that never fired fails it, and the message of a failure ends with the report.
 * @type {(name: string, settings: object, run: (sandbox: Sandbox, t: TestContext) => unknown, define?: Function) => void}
 */
export function sandboxTest(name, settings, run, define = test) {
  define(name, /** @this {any} */ async function () { // without a parameter, which Jest and Mocha would take for a callback
    const t = arguments[0]; // of node:test and Vitest
    const file = t?.task?.file.filepath ?? this?.test?.file ?? jestState().testPath ?? process.argv[1];
    const title = `${relative("", file).replaceAll("\\", "/")}::${name}`; // two files may have tests of one name
    const sandbox = await Sandbox.open(settings);
    const close = () => (ends.delete(stop), sandbox.close());
    let isSettled = false;
    const stop = async (/** @type {any} */ failure) => {
      if (isSettled) return;
      const words = failure?.message ?? t?.task?.result?.errors?.[0]?.message ?? "the runner ended the test, by its timeout or an error in a callback";
      console.error(`${name}: ${words}\n\n${await sandbox.report(title, words)}`);
      await close();
    };
    const hook = t?.after ?? t?.onTestFinished ?? ((/** @type {typeof stop} */ act) => ends.set(act, name));
    hook.call(t, stop);
    try {
      await run(sandbox, t);
      for (const failure of (await sandbox.control("GET", "/check")).failures) throw new Error(failure.message); // such as a rule that never fired
    } catch (/** @type {any} */ failure) {
      if (isSkip(failure)) throw failure;
      throw withReport(failure, await sandbox.report(title, failure));
    } finally {
      isSettled = true;
      await close();
    }
  });
}

const requests = /** @type {Set<any>} */ (new Set()); // that this process has sent and whose answers are not complete, by whatever library
let sent = 0;
const begin = (/** @type {any} */ { request }) => (sent++, requests.add(request));
const finish = (/** @type {any} */ { request }) => requests.delete(request);
subscribe("undici:request:create", begin); // also of fetch
for (const name of ["trailers", "error"]) subscribe(`undici:request:${name}`, finish);
subscribe("http.client.request.start", (/** @type {any} */ message) => (begin(message), message.request.once("close", () => finish(message))));

const real = { Date, setTimeout, setInterval, setImmediate, clearTimeout };
const pass = (/** @type {number} */ ms) => new Promise((resolve) => real.setTimeout(resolve, ms));
const QUIET_TURNS = 3; // of the event loop, each of a millisecond at least
const PATIENCE_MS = 50;
/** @typedef {{ handle: NodeJS.Timeout, at: number, isOver: boolean, repeats: boolean, run: () => unknown }} Timer */
/**
 * Timers on the sandbox's clock, which is advanced to the nearest when its process only waits for timers.
 * Each is a real timer as well, and runs at the latest when its real time is over: a request in flight has its timeouts as always.
 * A timer that does not keep the process running (`unref`), as those of requests in undici and got, runs only then.
 */
class Clock {
  static #inUse = false;
  /** @type {Map<number, Timer>} */
  #timers = new Map();
  /** @type {[any, any][]} */
  #replaced = [];
  #isWatching = false;
  #isAdvancing = false;

  /** @param {string} now @param {(ms: number) => Promise<unknown>} advance */
  constructor(now, advance) {
    if (Clock.#inUse) throw new Error("useClock: this process is on the clock of another sandbox; expected its close() first");
    Clock.#inUse = true;
    requests.clear(); // those that an earlier test has left
    this.now = real.Date.parse(now);
    this.advance = advance;
    const clear = (/** @type {any} */ handle) => this.#clear(handle);
    const wait = this.#wait.bind(this);
    const setTimeout = Object.assign(this.#start.bind(this, real.setTimeout), { [promisify.custom]: wait });
    const functions = { setTimeout, setInterval: this.#start.bind(this, real.setInterval), clearTimeout: clear, clearInterval: clear };
    this.#replace(timers, functions);
    this.#replace(globalThis, { ...functions, Date: this.#date() });
    this.#replace(promises.scheduler, { wait: (/** @type {number} */ ms, /** @type {any} */ options) => wait(ms, undefined, options) });
    this.#replace(promises, {
      setTimeout: wait,
      setInterval: async function* (/** @type {Parameters<typeof wait>} */ ...given) {
        for (;;) yield await wait(...given);
      },
    });
  }
  set(/** @type {string} */ now) {
    this.now = real.Date.parse(now);
  }
  /** Give back the functions; a timer that is left runs when its real time is over. */
  close() {
    if (!this.#replaced.length) return;
    for (const [target, functions] of this.#replaced.splice(0)) Object.assign(target, functions);
    syncBuiltinESMExports();
    Clock.#inUse = false;
    const left = [...this.#timers.values()];
    this.#timers.clear();
    for (const timer of left) if (timer.isOver) timer.run();
  }
  #replace(/** @type {any} */ target, /** @type {any} */ functions) {
    this.#replaced.push([target, Object.fromEntries(Object.keys(functions).map((name) => [name, target[name]]))]);
    Object.assign(target, functions);
    syncBuiltinESMExports(); // for those who import them by name
  }
  #date() {
    const now = () => this.now;
    return new Proxy(real.Date, {
      construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now()], made),
      apply: () => `${new real.Date(now())}`,
      get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    });
  }
  /** @param {any} begin @param {(...given: any[]) => unknown} callback @param {number} [ms] @param {any[]} given @returns {NodeJS.Timeout} */
  #start(begin, callback, ms = 1, ...given) {
    if (typeof callback !== "function" || !(ms > 1 && ms < 2 ** 31)) return begin(callback, ms, ...given); // a turn of the loop, and no wait
    const handle = begin(() => this.#expire(timer), ms);
    const timer = { handle, at: 0, isOver: false, repeats: begin === real.setInterval, run: AsyncResource.bind(() => callback(...given)) };
    const renew = () => {
      Object.assign(timer, { at: this.now + Math.ceil(ms), isOver: false });
      this.#timers.set(Number(handle), timer);
      this.#watch();
    };
    const refresh = handle.refresh.bind(handle);
    renew();
    return Object.assign(handle, { refresh: () => (renew(), refresh()), close: () => this.#clear(handle) });
  }
  /** @param {number} [ms] @param {any} [value] @param {import("node:timers").TimerOptions} [options] */
  #wait(ms, value, { signal, ref = true } = {}) {
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#clear(handle);
        reject(Object.assign(new Error("The operation was aborted", { cause: signal?.reason }), { name: "AbortError", code: "ABORT_ERR" }));
      };
      const handle = this.#start(real.setTimeout, () => (signal?.removeEventListener("abort", abort), resolve(value)), ms);
      if (!ref) handle.unref();
      signal?.addEventListener("abort", abort, { once: true });
      if (signal?.aborted) abort();
    });
  }
  #clear(/** @type {any} */ handle) {
    this.#timers.delete(Number(handle));
    real.clearTimeout(handle);
  }
  #expire(/** @type {Timer} */ timer) {
    timer.isOver = this.#replaced.length > 0 && timer.handle.hasRef() && !this.#isAdvancing;
    if (timer.isOver) return this.#watch();
    this.#timers.delete(Number(timer.handle));
    timer.run();
  }
  /** Run each timer that holds the process, when its real time is over or nothing else is left to do. */
  async #watch() {
    if (this.#isWatching) return;
    this.#isWatching = true;
    let turns = 0;
    let seen = sent;
    for (let timer; (timer = this.#next()); seen = sent) {
      const isBusy = sent > seen || [...requests].some((request) => !request.res?.complete) || process.getActiveResourcesInfo().some((name) => name.includes("Req"));
      turns = isBusy ? 0 : turns + 1;
      if (timer.isOver || turns > QUIET_TURNS) await this.#reach(timer), (turns = 0);
      await pass(1);
    }
    this.#isWatching = false;
  }
  #next() {
    const waiting = [...this.#timers.values()].filter((timer) => timer.isOver || timer.handle.hasRef());
    waiting.sort((one, other) => one.at - other.at);
    return waiting.find((timer) => timer.isOver) ?? waiting[0];
  }
  async #reach(/** @type {Timer} */ timer) {
    if (timer.at > this.now) {
      this.#isAdvancing = true;
      const advanced = this.advance(timer.at - this.now).catch(() => (this.now = timer.at)); // of an ended sandbox: its next call fails
      await (timer.isOver ? Promise.race([advanced, pass(PATIENCE_MS)]) : advanced); // it may wait for a receiver that waits for this timer
      this.#isAdvancing = false;
    }
    await new Promise((resolve) => real.setImmediate(() => (resolve(undefined), this.#run(timer))));
  }
  #run(/** @type {Timer} */ timer) {
    if (!this.#timers.has(Number(timer.handle))) return; // cleared while the clock was advanced
    if (timer.repeats) timer.handle.refresh();
    else this.#clear(timer.handle);
    timer.run();
  }
}
