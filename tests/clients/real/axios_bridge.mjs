// Sends what standard input asks for, one JSON document a line, by axios with axios-retry; its delays are answered by the
// other side, which lets them pass on the sandbox's clock.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/`);
const axios = require("axios");
const axiosRetry = require("axios-retry").default;

const say = (document) => process.stdout.write(`${JSON.stringify(document)}\n`);
const waiting = [];
const really = globalThis.setTimeout;
globalThis.setTimeout = (go, ms, ...rest) => {
  if (!ms) return really(go, ms, ...rest);
  waiting.push(() => go(...rest));
  say({ sleep: ms / 1000 });
};

const client = axios.create({ validateStatus: (status) => status < 400, proxy: false, transformResponse: (text) => text });
axiosRetry(client, JSON.parse(process.argv[3]));

createInterface({ input: process.stdin }).on("line", async (line) => {
  const request = JSON.parse(line);
  if (request.slept) return waiting.shift()();
  try {
    const data = request.data === null ? undefined : Buffer.from(request.data, "base64");
    const { status, data: text } = await client.request({ ...request, data });
    say({ status, text });
  } catch (error) {
    const { status, data: text } = error.response ?? {};
    say(text === undefined ? { error: error.code ?? error.message } : { status, text });
  }
});
