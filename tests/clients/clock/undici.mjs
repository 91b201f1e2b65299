import "./clock.mjs";
import { Agent, RetryAgent, request } from "undici";
import { Refused, launch, report } from "./work.mjs";

const { MOCKSERVER_URL, MOCKSERVER_KEY } = process.env;
const dispatcher = new RetryAgent(new Agent(), { maxRetries: 3, maxTimeout: 3_600_000 });
const headers = { "X-API-Key": MOCKSERVER_KEY, "Content-Type": "application/json" };

await report(
  launch(async (method, path, json) => {
    const { statusCode, body } = await request(MOCKSERVER_URL + path, { method, dispatcher, headers, body: json && JSON.stringify(json) });
    const text = await body.text();
    if (statusCode >= 400) throw new Refused(`${statusCode} ${text}`);
    return JSON.parse(text);
  }),
);
