// A client of the API whose types are all generated; it compiles under `tsc --strict`, and a typo in it does not.
import type { components, operations, paths, webhooks } from "./api";
import type { components as control } from "./control";

type Schemas = components["schemas"];
type Campaign = Schemas["CreateCampaignRequest"];
type Statement = Schemas["FilterStatement"];
type ErrorCode = operations["startCampaign"]["responses"]["422"]["content"]["application/json"]["code"];

const open: Statement = { field: "chat.status", operator: "equals", value: "open" };
const tagged: Statement = { field: "chat.tagIds", operator: "has-any", value: ["tag_vip"] };
const recent: Statement = { field: "chat.virtual.lastMessageAt", operator: "exists" };

export const campaign: Campaign = {
  name: "Spring",
  platform: "chatapp",
  templateId: "template_hello",
  cadence: 60,
  filters: [{ combinator: "and", statements: [open, tagged, recent] }],
};

export function numberOf(session: Schemas["ReadConnectionSessionResponse"]): string | null {
  return session.status === "completed" ? session.entrypoint.displayPhone : null;
}

export function textOf(item: Schemas["TemplateItem"]): string {
  return item.type === "text" ? item.text : (item.mediaId ?? item.type);
}

export function isFinal(execution: Schemas["ReadExecutionResponse"]): boolean {
  return execution.status !== "processing";
}

export function mayRetry(code: ErrorCode): boolean {
  return code === "CAMPAIGN_ALREADY_PROCESSING";
}

export function reasonOf(event: webhooks["entrypoints.chatapp.connection_failed"]["post"]): string {
  return event.requestBody.content["application/json"].data.reason;
}

export const pathOfStart: keyof paths = "/v1/campaigns/{id}/start";

export const rule: control["schemas"]["Rule"] = { on: "startCampaign", nth: 1, do: { drop: "after" } };

export function clockOf(state: control["schemas"]["State"]): string {
  return state.clock.now;
}

export async function start(baseUrl: string, key: string, id: string): Promise<Schemas["StartCampaignResponse"]> {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const body: Schemas["StartCampaignRequest"] = { commonVariables: { var1: "Ana" } };
  const response = await fetch(`${baseUrl}/v1/campaigns/${id}/start`, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as Schemas["StartCampaignResponse"];
}
