import "./clock.mjs";
import ky from "ky";
import { launch, report } from "./work.mjs";

const { MOCKSERVER_URL, MOCKSERVER_KEY } = process.env;
const api = ky.extend({ prefixUrl: MOCKSERVER_URL, headers: { "X-API-Key": MOCKSERVER_KEY }, timeout: 10_000, retry: { limit: 3 } });

await report(launch((method, path, json) => api(path.slice(1), { method, json }).json()));
