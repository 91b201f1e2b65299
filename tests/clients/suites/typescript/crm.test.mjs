import assert from "node:assert/strict";
import { Client, Refused } from "./client.mjs";
import { sandboxTest } from "./mockserver.mjs";
import { test } from "./runner.mjs";

const DRAFT = { name: "Retorno", platform: "chatapp", templateId: "template_revisao_semestral", cadence: 30 };
const VARIABLES = { var3: "31/03" };
const group = (field, value) => ({ combinator: "and", statements: [{ field, operator: "equals", value }] });
const advance = (mock, by) => mock.control("POST", "/clock/advance", by);
const rule = (mock, rule) => mock.control("POST", "/rules", rule);
const calls = async (mock, operation) => (await mock.control("GET", `/journal?operation=${operation}`)).exchanges.length;
const refused = (code, call) => assert.rejects(call, (failure) => failure instanceof Refused && failure.code === code);

function clientTest(name, run) {
  const withClient = (mock) => run(new Client(mock.baseUrl, mock.secretKey, (seconds) => advance(mock, { by: seconds })), mock);
  sandboxTest(name, { scenario: "demo" }, withClient, test);
}

clientTest("templates are listed", async (client) => {
  assert.equal((await client.templates()).length, 6);
});
clientTest("a template has its manual variables", async (client) => {
  assert.deepEqual((await client.template("template_semana_clareamento")).commonVariables.map((each) => each.key), ["var2"]);
});
clientTest("an unknown template is refused", (client) => refused("MESSAGE_TEMPLATE_NOT_FOUND", client.template("template_none")));
clientTest("a preview counts all chats", async (client) => {
  assert.ok((await client.preview()) > 21);
});
clientTest("a preview counts a filter", async (client) => {
  assert.equal(await client.preview(group("chat.platform", "chatapp")), 21);
});
clientTest("an unknown filter is refused", (client) => refused("CAMPAIGN_INVALID_FILTERS", client.preview(group("chat.colour", "red"))));
clientTest("a campaign begins as a draft", async (client) => {
  assert.equal((await client.campaign(await client.create(DRAFT))).status, "draft");
});
clientTest("a taken name is refused", async (client) => {
  await client.create(DRAFT);
  await refused("CAMPAIGN_NAME_ALREADY_EXISTS", client.create(DRAFT));
});
clientTest("an official template is refused on the lite platform", (client) =>
  refused("CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", client.create({ ...DRAFT, platform: "chatapp_lite" })));
clientTest("campaigns are listed", async (client) => {
  const campaign = await client.create(DRAFT);
  assert.deepEqual((await client.campaigns()).map((each) => each.id), [campaign]);
});
clientTest("an unknown campaign is refused", (client) => refused("CAMPAIGN_NOT_FOUND", client.campaign("campaign_none")));
clientTest("a start needs its variables", async (client) => {
  await refused("CAMPAIGN_MISSING_COMMON_VARIABLES", client.start(await client.create(DRAFT)));
});
clientTest("a started campaign sends as time passes", async (client, mock) => {
  const campaign = await client.create(DRAFT);
  const execution = await client.start(campaign, VARIABLES);
  await advance(mock, { by: "30s" });
  const { sentCount, failedCount } = await client.execution(campaign, execution);
  assert.equal(sentCount + failedCount, 16);
});
clientTest("a campaign completes", async (client, mock) => {
  const campaign = await client.create(DRAFT);
  await client.start(campaign, VARIABLES);
  await advance(mock, { until: "idle" });
  assert.equal((await client.campaign(campaign)).status, "completed");
});
clientTest("a campaign is canceled", async (client) => {
  const campaign = await client.create(DRAFT);
  await client.cancel(campaign);
  assert.equal((await client.campaign(campaign)).status, "canceled");
});
for (const lost of ["before", "after"]) {
  clientTest(`an answer lost ${lost} starts a campaign once`, async (client, mock) => {
    await rule(mock, { on: "startCampaign", nth: 1, do: { drop: lost } });
    await client.start(await client.create(DRAFT), VARIABLES);
    assert.equal((await mock.control("GET", "/ledger")).executions.length, 1);
  });
}
clientTest("a lost read is an error of the network", async (client, mock) => {
  await rule(mock, { on: "listCampaigns", nth: 1, do: { drop: "before" } });
  await assert.rejects(client.campaigns(), { name: "TypeError" });
  assert.equal(await calls(mock, "listCampaigns"), 1);
});
clientTest("a cut answer is an error", async (client, mock) => {
  await rule(mock, { on: "listTemplates", nth: 1, do: { truncate: 20 } });
  await assert.rejects(client.templates());
});
clientTest("a call is tried again after a 429", async (client, mock) => {
  await rule(mock, { on: "listTemplates", nth: 1, do: { error: { code: "RATE_LIMIT_EXCEEDED", retryAfter: 30 } } });
  await client.templates();
  assert.equal(await calls(mock, "listTemplates"), 2);
  assert.equal((await mock.control("GET", "/clock")).now, "2026-03-01T12:00:30.000Z");
});
clientTest("a call is tried again after a 503", async (client, mock) => {
  await rule(mock, { on: "listTemplates", times: 2, do: { reply: { status: 503, body: {} } } });
  await client.templates();
  assert.equal(await calls(mock, "listTemplates"), 3);
});
clientTest("the client gives up after three attempts", async (client, mock) => {
  await rule(mock, { on: "listTemplates", do: { error: "RATE_LIMIT_EXCEEDED" } });
  await refused("RATE_LIMIT_EXCEEDED", client.templates());
  assert.equal(await calls(mock, "listTemplates"), 3);
});
clientTest("a wrong key is refused", (client) => {
  client.key = "sk_wrong";
  return refused("API_KEY_INVALID", client.templates());
});
clientTest("a suspended tenant is refused", async (client, mock) => {
  await mock.control("PATCH", "/tenants/tenant_default", { subscription: "suspended" });
  await refused("SUBSCRIPTION_INACTIVE", client.templates());
});
clientTest("pages join to the whole chat", async (client, mock) => {
  assert.deepEqual(await client.messages("chat_helena", 5), await client.messages("chat_helena", 100));
  assert.ok((await calls(mock, "listMessages")) >= 3);
});
clientTest("a file is uploaded", async (client) => {
  assert.ok((await client.upload("prices.txt", "text/plain", "Limpeza: 180")).success);
});
clientTest("a file with a wrong content is refused", (client) =>
  refused("MEDIA_INVALID_FORMAT", client.upload("face.png", "image/png", "no picture")));
clientTest("a session expires after twenty minutes", async (client, mock) => {
  const { sessionId } = await client.openSession();
  await advance(mock, { by: "20m" });
  assert.equal((await client.session(sessionId)).status, "expired");
});
clientTest("a completed session sends a signed event", async (client, mock) => {
  const events = await mock.receive();
  const { sessionId } = await client.openSession();
  await mock.control("POST", `/sessions/${sessionId}/complete`, { name: "Recepção 2" });
  assert.deepEqual(events.map((each) => each.data.sessionId), [sessionId]);
  assert.equal((await client.entrypoint((await client.session(sessionId)).entrypoint.id)).name, "Recepção 2");
});
clientTest("a forged event is refused", async (client, mock) => {
  const events = await mock.receive();
  await rule(mock, { on: "delivery", nth: 1, do: { deliver: { forge: "wrong-secret" } } });
  const { sessionId } = await client.openSession();
  await mock.control("POST", `/sessions/${sessionId}/fail`, { reason: "phone_in_use" });
  assert.equal(events.length, 1);
});
