// Fails on purpose: what is left of a failed test is looked at.
import assert from "node:assert/strict";
import { sandboxTest } from "./mockserver.mjs";

sandboxTest("reads a campaign", {}, async (mock) => {
  assert.equal((await mock.call("GET", "/v1/campaigns/campaign_none")).status, 200);
});
