"""
A small client of the gateway, right in all that the document asks of it, with bugs that can be planted by name.

Each bug is one that real clients have; `BUGS` says in a sentence what it does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http.client import HTTPException
from typing import Any

from mockserver import Sandbox

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
FINAL = ("completed", "failed", "canceled", "expired")
TRIES = 3

BUGS = {
    "duplicate-start": "sends a start again after its answer was lost, without reading first",
    "clone-after-conflict": "takes ALREADY_PROCESSING for a failure and makes the campaign again under another name",
    "rename-after-lost-create": "appends (2) to a name that is taken since the answer to its create was lost",
    "blind-retry": "a middleware repeats each POST whose answer was lost",
    "only-200-is-ok": "repeats whatever did not answer 200",
    "lost-filters": "misspells the filters in the create",
    "platform-is-audience": "assumes that the platform restricts the audience",
    "poll-after-final": "continues to poll after the end",
    "page-early-stop": "stops at a page that is shorter than asked for",
    "json-on-204": "parses the empty body of a cancel and takes the error for a failure",
    "message-matched": "recognises a taken name by the text of the message",
    "status-matched": "recognises a taken name by the status 400",
    "ignore-retry-after": "calls again after a second, whatever Retry-After a 429 has",
    "retry-hopeless": "repeats what was refused for good",
    "session-storm": "opens a new session as soon as one has failed",
    "waits-only-for-completed": "does not take failed and canceled for ends",
    "cadence-unit": "sends messages per hour where messages per minute are asked for, the wrong way round",
    "restart-ended": "starts a campaign again that has failed or was canceled",
    "key-in-query": "sends the key in the query too",
    "poll-too-fast": "polls every second",
    "cancel-and-forget": "does not repeat a cancel that met an error",
    "wrong-variable-keys": "sends an automatic variable with the manual one",
    "naive-dates": "filters by a date without an offset",
}


class Trouble(Exception):
    """The gateway did not do what was asked, and the client says so."""


class Lost(Trouble):
    """No answer came that could be read; the call may have taken effect."""


class Refused(Trouble):
    """A refusal, by its code."""

    def __init__(self, status: int, code: str, message: str = "") -> None:
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


class NameTaken(Trouble):
    """A campaign of this name exists."""


class Client:
    """Launches, watches and cancels campaigns, connects numbers, reads histories. `bug` is a name of `BUGS`, or none."""

    def __init__(self, sandbox: Sandbox, sleep: Callable[[float], object], bug: str | None = None) -> None:
        if bug is not None and bug not in BUGS:
            raise ValueError(f"no bug {bug!r}")
        self.sandbox, self.sleep, self.bug = sandbox, sleep, bug

    # What it does

    def launch(self, name: str, per_minute: int, since: str) -> tuple[str, str | None]:
        """Make a campaign for the open chats of its channel, changed since then, and start it: the ids of campaign and execution."""
        filters = self._filters(since)
        if self._ask("POST", "/v1/campaigns/audience-preview", {"filters": filters})["estimatedCount"] == 0:
            raise Trouble("nobody to write to")
        body = {
            "name": name,
            "platform": "chatapp",
            "templateId": "template_asking",
            "cadence": per_minute * (3600 if self.bug == "cadence-unit" else 1),
            ("filter" if self.bug == "lost-filters" else "filters"): filters,
        }
        campaign = self._create(body)
        return campaign, self._start(campaign, {"commonVariables": self._variables(name)}, body)

    def watch(self, campaign: str, execution: str) -> str:
        """Poll an execution until it is over: how it ended."""
        path = f"/v1/campaigns/{campaign}/executions/{execution}"
        ends = ("completed",) if self.bug == "waits-only-for-completed" else FINAL
        while (status := self._ask("GET", path)["status"]) not in ends:
            self.sleep(1 if self.bug == "poll-too-fast" else 10)
        for _ in range(3 if self.bug == "poll-after-final" else 0):
            self.sleep(10)
            self._ask("GET", path)
        if status in ("failed", "canceled") and self.bug == "restart-ended":
            self._send("POST", f"/v1/campaigns/{campaign}/start", {})
        return status

    def cancel(self, campaign: str) -> None:
        """Cancel a campaign, and be sure of it."""
        for left in reversed(range(1 if self.bug == "cancel-and-forget" else TRIES)):
            try:
                _, said = self._send("POST", f"/v1/campaigns/{campaign}/cancel")
                if self.bug == "json-on-204":
                    json.loads(said)
            except Refused as refusal:
                if refusal.status < 500:
                    raise
            except (Lost, ValueError):
                pass
            else:
                return
            if left:
                self.sleep(5)
        raise Lost("cancel")

    def connect(self) -> str:
        """A link for an end user: the id of its session."""
        return str(self._ask("POST", SESSIONS, {})["sessionId"])

    def await_connection(self, session: str, *, patience_s: int = 60) -> str:
        """Poll a session until it is over, or for so long: where it stands."""
        for _ in range(patience_s // 5):
            found = self._ask("GET", f"{SESSIONS}/{session}")
            if found["status"] in FINAL:
                break
            self.sleep(5)
        for _ in range(TRIES if found["status"] == "failed" and self.bug == "session-storm" else 0):
            self.connect()
        return str(found["status"])

    def history(self, chat: str) -> list[dict[str, Any]]:
        """All messages of a chat."""
        records: list[dict[str, Any]] = []
        query = "limit=2"
        while True:
            page = self._ask("GET", f"/v1/messaging/chats/{chat}?{query}")
            records += page["records"]
            if not page.get("nextCursor") or (self.bug == "page-early-stop" and len(page["records"]) < 2):
                return records
            query = f"limit=2&cursor={page['nextCursor']}"

    # How it does it

    def _filters(self, since: str) -> list[dict[str, Any]]:
        date = since.removesuffix("Z") if self.bug == "naive-dates" else since
        statements = [
            {"field": "chat.status", "operator": "equals", "value": "open"},
            {"field": "chat.virtual.lastUpdateAt", "operator": "greater-than", "value": date},
        ]
        if self.bug != "platform-is-audience":
            statements.append({"field": "chat.platform", "operator": "equals", "value": "chatapp"})
        return [{"combinator": "and", "statements": statements}]

    def _variables(self, coupon: str) -> dict[str, str]:
        return {"var2": coupon} | ({"var1": "Ana"} if self.bug == "wrong-variable-keys" else {})

    def _create(self, body: dict[str, Any]) -> str:
        """A draft, found in the list where the answer to its create was lost."""
        try:
            return self._post_campaign(body)
        except Lost:
            if self.bug == "rename-after-lost-create":
                return self._post_campaign({**body, "name": f"{body['name']} (2)"})
        listed = self._ask("GET", "/v1/campaigns")["campaigns"]
        mine = {key: body[key] for key in ("name", "templateId", "cadence")}
        made = [each["id"] for each in listed if mine.items() <= each.items()]
        return str(made[0]) if made else self._post_campaign(body)

    def _post_campaign(self, body: dict[str, Any]) -> str:
        try:
            return str(self._ask("POST", "/v1/campaigns", body)["campaignId"])
        except Refused as refusal:
            if self._is_name_taken(refusal):
                raise NameTaken(body["name"]) from None
            raise

    def _is_name_taken(self, refusal: Refused) -> bool:
        if self.bug == "message-matched":
            return "nome" in refusal.message
        if self.bug == "status-matched":
            return refusal.status == 400
        return refusal.code == "CAMPAIGN_NAME_ALREADY_EXISTS"

    def _start(self, campaign: str, variables: dict[str, Any], body: dict[str, Any]) -> str | None:
        """The execution; where the answer was lost, what reading the campaign tells."""
        path = f"/v1/campaigns/{campaign}/start"
        try:
            return str(self._ask("POST", path, variables)["executionId"])
        except Lost:
            if self.bug in ("duplicate-start", "clone-after-conflict"):
                return self._start_again(path, variables, body)
        found = self._ask("GET", f"/v1/campaigns/{campaign}")
        if found["status"] == "draft":
            return str(self._ask("POST", path, variables)["executionId"])
        return str(found["executions"][0]["id"]) if found["executions"] else None

    def _start_again(self, path: str, variables: dict[str, Any], body: dict[str, Any]) -> str:
        if self.bug == "clone-after-conflict":
            self._ask("GET", path.removesuffix("/start"))  # read, and not understood
        try:
            return str(self._ask("POST", path, variables)["executionId"])
        except Refused as refusal:
            if self.bug != "clone-after-conflict" or refusal.code not in (
                "CAMPAIGN_ALREADY_PROCESSING",
                "CAMPAIGN_NOT_DRAFT",
            ):
                raise
        clone = self._ask("POST", "/v1/campaigns", {**body, "name": f"{body['name']} b"})["campaignId"]
        return str(self._ask("POST", f"/v1/campaigns/{clone}/start", variables)["executionId"])

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The body of a success; a read is tried again when it failed, and a refusal by rate when its time has come."""
        for left in reversed(range(TRIES)):
            try:
                status, said = self._send(method, path, body)
                if self.bug == "only-200-is-ok" and status != 200 and left:
                    continue
                return json.loads(said)
            except ValueError:
                problem: Trouble = Lost("no JSON")
            except (Lost, Refused) as trouble:
                problem = trouble
            if not left or not self._is_worth_another(method, problem):
                raise problem
            self.sleep(10)
        raise AssertionError("unreachable")

    def _is_worth_another(self, method: str, problem: Trouble) -> bool:
        if isinstance(problem, Refused) and problem.status < 500:
            return self.bug == "retry-hopeless"
        return method == "GET" or self.bug == "blind-retry"

    def _send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """One call, and another when a 429 says when."""
        if self.bug == "key-in-query":
            path += f"{'&' if '?' in path else '?'}key={self.sandbox.secret_key}"
        for left in reversed(range(TRIES)):
            try:
                reply = self.sandbox.call(method, path, json=body, timeout=60)
            except (OSError, HTTPException) as failure:
                raise Lost(str(failure)) from None
            if reply.status != 429 or not left:
                break
            self.sleep(1 if self.bug == "ignore-retry-after" else int(reply.headers.get("retry-after", "60")))
        if reply.status < 300:
            return reply.status, reply.body
        try:
            said = reply.json()
        except ValueError:
            said = {"code": "UNKNOWN", "message": ""}
        raise Refused(reply.status, said["code"], said["message"])
