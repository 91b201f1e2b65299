"""
A naive client of the API, with the bugs that such clients have: it works while nothing fails.

Each method's docstring names its bug. Loops that would never end are stopped after `patience` rounds with `NeverEnds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import requests

from tests.clients.operations import JSON, Operations, Wait


class Failed(Exception):
    """An answer that is not a success, with its text for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message


class NeverEnds(Exception):
    """The loop would go on for ever."""


class Naive(Operations):
    """The API as seen by someone who has tried it on a good day."""

    def __init__(
        self, base_url: str, key: str, http: requests.Session, wait: Wait, *, clones: bool = True, patience: int = 200
    ) -> None:
        super().__init__(base_url, key, http)
        self._wait = wait
        self._clones = clones
        self._patience = patience

    def audience(self, filters: Sequence[JSON]) -> int:
        """The size of the audience, which it takes for the number of messages that will be sent."""
        counted = self.preview_audience({"filters": list(filters)})
        return int(counted["estimatedCount"])

    def templates(self) -> list[JSON]:
        found: list[JSON] = self.list_templates()["templates"]
        return found

    def template(self, template_id: str) -> JSON:
        found: JSON = self.read_template(template_id)
        return found

    def launch(self, body: JSON, values: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Create and start; a start that is refused is taken for a broken campaign, and a clone is made and started."""
        campaign_id = self.create(body)
        try:
            return campaign_id, self.start(campaign_id, values)
        except Failed:
            if not self._clones:
                raise
        clone_id = self.create({**body, "name": f"{body['name']} (2)"})
        return clone_id, self.start(clone_id, values)

    def create(self, body: JSON) -> str:
        """Create a draft; it omits the filters after any 422, and adds "(2)" to a taken name, recognised by its text."""
        try:
            return str(self.create_campaign(dict(body))["campaignId"])
        except Failed as failed:
            if failed.status == 422 and "filters" in body:
                return self.create({key: value for key, value in body.items() if key != "filters"})
            if "Já existe" not in failed.message:
                raise
        return self.create({**body, "name": f"{body['name']} (2)"})

    def start(self, campaign_id: str, values: Mapping[str, str] | None = None) -> str:
        """Start, and start again if no answer arrives."""
        body = {"commonVariables": dict(values)} if values else {}
        return str(self.start_campaign(campaign_id, body)["executionId"])

    def follow(self, campaign_id: str, execution_id: str) -> JSON:
        """Poll each second for `completed`, the only end it handles."""
        return self._poll(lambda: self.read_execution(campaign_id, execution_id), lambda read: _is(read, "completed"))

    def cancel(self, campaign_id: str) -> JSON:
        """Cancel once, and read the body of an answer that has none."""
        found: JSON = self.cancel_campaign(campaign_id)
        return found

    def upload(self, files: Mapping[str, tuple[bytes, str]]) -> dict[str, str]:
        """The ids by name, the first result for the first file, all of them stored."""
        parts = [("files", (name, content, kind)) for name, (content, kind) in files.items()]
        results = self.upload_media(parts)
        return {name: result["id"] for name, result in zip(files, results, strict=True)}

    def messages(self, chat_id: str, limit: int = 50) -> list[JSON]:
        """Every message; a page that is not full is the last one."""
        found: list[JSON] = []
        query: dict[str, Any] = {"limit": limit}
        for _ in range(self._patience):
            page = self.list_messages(chat_id, query)
            found += page["records"]
            if len(page["records"]) < limit:
                return found
            query["cursor"] = page["nextCursor"]
        raise NeverEnds(chat_id)

    def connect(self, keep: Callable[[str], object], show: Callable[[str], object], **body: Any) -> JSON:
        """Show the link, store the session's id later, and poll for `completed` alone."""
        created = self.create_session(body)
        show(created["url"])
        keep(created["sessionId"])
        return self.await_session(created["sessionId"])

    def await_session(self, session_id: str) -> JSON:
        return self._poll(lambda: self.read_session(session_id), lambda read: _is(read, "completed"))

    def returned(self, url: str) -> bool:
        """Return True if the end user is back from a success, which it assumes of every visit of the returnUrl."""
        return "error=" not in url

    def _poll(self, read_once: Callable[[], JSON], is_over: Callable[[JSON], bool]) -> JSON:
        for _ in range(self._patience):
            read = read_once()
            if is_over(read):
                return read
            self._wait(1)
        raise NeverEnds

    def _send(self, method: str, path: str, **rest: Any) -> Any:
        """Send a call up to three times if no answer arrives or the service fails; no timeout, and every answer is JSON."""
        for attempt in range(3):
            try:
                answer = self._exchange(method, path, **rest)
            except requests.ConnectionError:
                if attempt == 2:
                    raise
                continue
            if answer.status_code < 500:
                break
        body = answer.json()
        if not self._is_success(answer):
            raise Failed(answer.status_code, body.get("message", ""))
        return body

    def _is_success(self, answer: requests.Response) -> bool:
        return answer.status_code < 400


class OnlyTwoHundred(Naive):
    """The same client with one bug more: every success is a 200."""

    def _is_success(self, answer: requests.Response) -> bool:
        return answer.status_code == 200


def _is(read: JSON, status: str) -> bool:
    return bool(read["status"] == status)
