import { spawn } from "node:child_process";
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

/** Start a server that ends with this process, and return its address. */
async function start() {
  const options = ["--port=0", "--freeze=2026-03-01T12:00:00Z", "--failures-dir=.mockserver/failures", "--log-format=off"];
  const server = spawn("mockserver", ["serve", ...options, "--exit-with-parent"], { stdio: ["ignore", "pipe", "inherit"] });
  const [printed] = await Promise.race([once(server.stdout, "data"), once(server, "exit")]);
  server.unref(), server.stdout.destroy(); // or this process would wait for its end
  return `${printed}`.split(/\s/)[4]; // mockserver VERSION listens on URL
}
export const url = process.env.MOCKSERVER_SERVER ?? (await start());

/** @param {string} method @param {string} target @param {unknown} [body] @param {Record<string, string>} [headers] */
async function send(method, target, body, headers = {}) {
  const all = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
  const response = await fetch(target, { method, headers: all, body: JSON.stringify(body) }).catch((failure) => Promise.reject(failure.cause ?? failure));
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
}

export class Sandbox {
  constructor(/** @type {{ sandboxId: string, baseUrl: string, secretKey: string, publicKey?: string }} */ made) {
    this.sandboxId = made.sandboxId;
    this.baseUrl = made.baseUrl;
    this.secretKey = made.secretKey;
    this.publicKey = made.publicKey ?? "";
  }
  /** Call the API with the secret key. @param {string} method @param {string} path @param {unknown} [body] */
  call(method, path, body) {
    return send(method, this.baseUrl + path, body, { "X-API-Key": this.secretKey });
  }
  /** Run a command of the control plane. @param {string} method @param {string} path @param {unknown} [body] */
  async control(method, path, body) {
    const authorization = `Bearer ${process.env.MOCKSERVER_TOKEN ?? ""}`; // for a server that requires a token
    const response = await send(method, `${this.baseUrl}/_mock${path}`, body, { Accept: "application/json", authorization });
    if (response.status >= 400 || (path === "/journal/verify" && !response.body.ok)) throw new Error(response.body.message);
    return response.body;
  }
  /** Receive events, verified. @param {TestContext} t @param {{ events?: any[], seconds?: number }} [options] */
  async receive(t, { events = [], seconds = 300 } = {}) {
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray());
      const [id, at, given] = ["id", "timestamp", "signature"].map((name) => `${request.headers[`webhook-${name}`]}`);
      const key = Buffer.from(webhook.secret.replace("whsec_", ""), "base64");
      const own = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest();
      const signatures = given.split(" ").map((each) => Buffer.from(each.replace("v1,", ""), "base64"));
      const isValid = Math.abs(Date.now() / 1000 - Number(at)) < seconds && signatures.some((each) => each.length === own.length && timingSafeEqual(each, own));
      if (isValid) events.push(JSON.parse(body.toString()));
      response.writeHead(isValid ? 204 : 401).end();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    atEnd(t, () => server.close().closeAllConnections());
    const { port } = /** @type {{ port: number }} */ (server.address());
    const webhook = await this.control("POST", "/webhooks", { url: `http://127.0.0.1:${port}/` });
    return events;
  }
}

/** @typedef {import("node:test").TestContext} TestContext */
const atEnd = (/** @type {any} */ t, /** @type {() => unknown} */ act) => (t.after ?? t.onTestFinished).call(t, act); // of node:test or Vitest
/** @type {(name: string, settings: object, run: (sandbox: Sandbox, t: TestContext) => unknown, define?: Function) => void} */
export function sandboxTest(name, settings, run, define = test) {
  define(name, async (/** @type {TestContext} */ t) => {
    const server = new Sandbox({ sandboxId: "default", baseUrl: url, secretKey: "" });
    const sandbox = new Sandbox(await server.control("POST", "/sandboxes", settings));
    atEnd(t, () => server.control("DELETE", `/sandboxes/${sandbox.sandboxId}`));
    const checked = async () => {
      await run(sandbox, t);
      for (const failure of (await sandbox.control("GET", "/check")).failures) throw new Error(failure.message); // such as a rule that never fired
    };
    await checked().catch(async (failure) => {
      const query = new URLSearchParams({ name, failure: `${failure?.message}`.slice(0, 500) });
      throw new Error(`${failure?.message}\n\n${(await sandbox.control("POST", `/report?${query}`)).text}`, { cause: failure });
    });
  });
}
