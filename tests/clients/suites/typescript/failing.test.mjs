// Fails on purpose: what is left of the failed tests is looked at.
import assert from "node:assert/strict";
import { sandboxTest } from "./mockserver.mjs";
import { test } from "./runner.mjs";

sandboxTest("reads-a-campaign", {}, async (mock) => {
  assert.equal((await mock.call("GET", "/v1/campaigns/campaign_none")).status, 200);
}, test);

sandboxTest("a-rule-never-fires", {}, async (mock) => {
  await mock.control("POST", "/rules", { on: "startCampaign", nth: 1, do: { drop: "after" } });
}, test);

sandboxTest("lacks-a-call", {}, async (mock) => {
  await mock.control("POST", "/journal/verify", { operation: "listCampaigns", times: 1 });
}, test);

sandboxTest("has-lost-its-sandbox", {}, async (mock) => {
  await mock.close();
  throw new Error("got 1; expected 2");
}, test);
