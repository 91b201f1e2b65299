import "./clock.mjs";
import got from "got";
import { launch, report } from "./work.mjs";

const { MOCKSERVER_URL, MOCKSERVER_KEY } = process.env;
const retry = { limit: 3, maxRetryAfter: 3_600_000 };
const api = got.extend({ prefixUrl: MOCKSERVER_URL, headers: { "X-API-Key": MOCKSERVER_KEY }, timeout: { request: 10_000 }, retry });

await report(launch((method, path, json) => api(path.slice(1), { method, json }).json()));
