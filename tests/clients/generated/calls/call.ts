// Calls of each operation by the generated client: prints what each answer says.
import { readFileSync } from "node:fs";
import { AudiencesApi, CampaignsApi, Configuration, ConnectionSessionsApi, EntrypointsApi, FormsApi, MessagingApi, TemplatesApi } from "./client/index";

const { BASE_URL, API_KEY, TEMPLATE = "", CAMPAIGNS = "", SESSIONS = "", ENTRYPOINT = "", CHAT = "", FILE = "", FORM = "" } = process.env;
const configuration = new Configuration({ basePath: BASE_URL, apiKey: API_KEY });
const say = (operation: string, value: unknown = "") => console.log(`${operation} ${value}`.trim());

async function call() {
  const templates = new TemplatesApi(configuration);
  say("listTemplates", (await templates.listTemplates()).data.templates.length);
  say("readTemplate", (await templates.readTemplate(TEMPLATE)).data.id);
  const audiences = new AudiencesApi(configuration);
  say("readFilterSchema", (await audiences.readFilterSchema()).data.fields.length);
  say("previewAudience", (await audiences.previewAudience()).data.estimatedCount);
  const campaigns = new CampaignsApi(configuration);
  const draft = { name: "Generated", platform: "chatapp" as const, templateId: TEMPLATE, cadence: 30 };
  const created = (await campaigns.createCampaign(draft)).data;
  say("createCampaign", created.status);
  say("startCampaign", (await campaigns.startCampaign(created.campaignId, { commonVariables: { var3: "31/03" } })).data.status);
  await campaigns.cancelCampaign(created.campaignId);
  say("cancelCampaign");
  say("listCampaigns", (await campaigns.listCampaigns()).data.campaigns.length);
  for (const id of CAMPAIGNS.split(" ")) {
    const read = (await campaigns.readCampaign(id)).data;
    say("readCampaign", read.status);
    for (const execution of read.executions) {
      say("readCampaign.execution", execution.status);
      say("readExecution", (await campaigns.readExecution(id, execution.id)).data.status);
    }
  }
  const sessions = new ConnectionSessionsApi(configuration);
  say("createConnectionSession", (await sessions.createConnectionSession()).data.status);
  for (const id of SESSIONS.split(" ")) say("readConnectionSession", (await sessions.readConnectionSession(id)).data.status);
  say("readEntrypoint", (await new EntrypointsApi(configuration).readEntrypoint(ENTRYPOINT)).data.entrypoint.id);
  const messaging = new MessagingApi(configuration);
  say("listMessages", (await messaging.listMessages(CHAT, undefined, 5)).data.records.length);
  const upload = messaging.uploadMedia([new File([readFileSync(FILE)], "prices.txt", { type: "text/plain" })]);
  say("uploadMedia", await upload.then(() => "stored", (refusal) => refusal.response.status));
  say("readFormPolicy", (await new FormsApi(configuration).readFormPolicy(FORM)).data.iframeEmbedAllowedOrigins.length);
}
void call();
