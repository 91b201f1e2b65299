// Polls until its runner ends it.
import { sandboxTest } from "./mockserver.mjs";
import { test } from "./runner.mjs";

const SESSIONS = "/v1/entrypoints/chatapp/connection-sessions";

sandboxTest("polls-for-ever", {}, async (mock) => {
  const { sessionId } = (await mock.call("POST", SESSIONS, {})).body;
  while ((await mock.call("GET", `${SESSIONS}/${sessionId}`)).body.status === "pending") await new Promise((resolve) => setTimeout(resolve, 50));
}, test);
