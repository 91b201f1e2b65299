// Ends its process.
import { sandboxTest } from "./mockserver.mjs";
import { test } from "./runner.mjs";

sandboxTest("ends-its-process", {}, async (mock) => {
  await mock.call("GET", "/v1/campaigns/campaign_none");
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => {});
}, test);
