// Fails on purpose: what is left of the failed tests is looked at.
import assert from "node:assert/strict";
import { sandboxTest } from "./mockserver.mjs";

sandboxTest("reads-a-campaign", {}, async (mock) => {
  assert.equal((await mock.call("GET", "/v1/campaigns/campaign_none")).status, 200);
});

sandboxTest("a-rule-never-fires", {}, async (mock) => {
  await mock.control("POST", "/rules", { on: "startCampaign", nth: 1, do: { drop: "after" } });
});

sandboxTest("lacks-a-call", {}, async (mock) => {
  await mock.control("POST", "/journal/verify", { operation: "listCampaigns", times: 1 });
});
