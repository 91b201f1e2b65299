"""
Record a client in Chromium, by Playwright's own HAR export: `python -m tests.recordings.record` writes `clinic.har`.

The calls are those of an ordinary integration with the demo's clinic, under the profile `guide`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mockserver import MockServer, Sandbox

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FILE = Path(__file__).with_name("clinic.har")
PROFILE = "guide"
CLIENT = """
async (key) => {
  const call = async (method, path, body) => {
    const headers = { "X-API-Key": key, ...(body && { "Content-Type": "application/json" }) };
    const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
    return answer.headers.get("content-type")?.includes("json") ? answer.json() : {};
  };
  const campaigns = "/v1/campaigns", sessions = "/v1/entrypoints/chatapp/connection-sessions";
  await call("GET", "/v1/message-templates");
  await call("GET", "/v1/message-templates/template_revisao_semestral");
  await call("GET", "/v1/campaigns/filters/schema");
  const lite = [{ combinator: "and", statements: [{ field: "chat.platform", operator: "equals", value: "chatapp_lite" }] }];
  await call("POST", `${campaigns}/audience-preview`, { filters: lite });
  await call("POST", `${campaigns}/audience-preview`, { filters: [] });
  const draft = { name: "Revisão de março", platform: "chatapp", templateId: "template_revisao_semestral", cadence: 60, filters: [] };
  const { campaignId } = await call("POST", campaigns, draft);
  await call("POST", campaigns, draft);
  await call("POST", campaigns, { ...draft, name: "Outra", templateId: "template_unknown" });
  await call("POST", `${campaigns}/${campaignId}/start`, { commonVariables: {} });
  const values = { var3: "31/03", var4: "SORRISO" };
  const { executionId } = await call("POST", `${campaigns}/${campaignId}/start`, { commonVariables: values });
  await call("GET", `${campaigns}/${campaignId}`);
  await call("POST", `${campaigns}/${campaignId}/start`, { commonVariables: values });
  await call("GET", `${campaigns}/${campaignId}`);
  for (let poll = 0; poll < 3; poll += 1) {
    await call("GET", `${campaigns}/${campaignId}/executions/${executionId}`);
    await window.passes(1);
  }
  await call("POST", `${campaigns}/${campaignId}/cancel`);
  await call("GET", `${campaigns}/${campaignId}`);
  await call("POST", `${campaigns}/${campaignId}/cancel`);
  await call("GET", campaigns);
  await call("GET", `${campaigns}/campaign_unknown`);
  const { sessionId } = await call("POST", sessions, {});
  await call("GET", `${sessions}/${sessionId}`);
  await window.connects(sessionId);
  const { entrypoint } = await call("GET", `${sessions}/${sessionId}`);
  await call("GET", `/v1/entrypoints/${entrypoint.id}`);
  await call("GET", `${sessions}/unknown`);
  await call("GET", "/v1/messaging/chats/chat_helena?limit=2");
  await call("GET", "/v1/messaging/chats/chat_helena");
  await call("GET", "/v1/forms/form_primeira_consulta/embed-frame-policy");
}
"""


def record(browser: Browser, sandbox: Sandbox, file: Path) -> None:
    """Run the client in a page of the server, and write what Playwright has recorded."""
    context = browser.new_context(record_har_path=file, record_har_content="embed", service_workers="block")
    context.expose_function("passes", lambda seconds: sandbox.advance(seconds=seconds))
    context.expose_function("connects", lambda session: sandbox.complete_session(session) and None)
    page = context.new_page()
    page.goto(f"{sandbox.base_url}/_mock/health")
    page.evaluate(CLIENT, sandbox.secret_key)
    context.close()


def main() -> None:
    """Write `clinic.har` again, without the entries of other pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, MockServer() as server:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with server.sandbox("demo", profile=PROFILE, own_port=True, now="2026-03-01T12:00:00Z") as sandbox:
            record(browser, sandbox, FILE)
        browser.close()
    FILE.write_text(json.dumps(json.loads(FILE.read_text(encoding="utf-8")), ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
