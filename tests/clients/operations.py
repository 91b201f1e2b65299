"""The operations of the API as calls over `requests`: what every client here is made of. How it calls, and what it makes of an answer, is its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import requests

JSON = Mapping[str, Any]
Wait = Callable[[float], object]

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
PREVIEW = "/v1/campaigns/audience-preview"


class Operations:
    """Calls with one tenant's key, each returning the response as it is; a subclass overrides `_send`."""

    def __init__(self, base_url: str, key: str, http: requests.Session) -> None:
        self._base_url = base_url
        self._key = key
        self._http = http

    def _send(self, method: str, path: str, **rest: Any) -> Any:
        """Make one call and return what the client makes of its answer; here the response itself."""
        return self._exchange(method, path, **rest)

    def _exchange(self, method: str, path: str, **rest: Any) -> requests.Response:
        return self._http.request(method, self._base_url + path, headers={"X-API-Key": self._key}, **rest)

    def list_templates(self) -> Any:
        return self._send("GET", "/v1/message-templates")

    def read_template(self, template_id: str) -> Any:
        return self._send("GET", f"/v1/message-templates/{template_id}")

    def preview_audience(self, body: JSON) -> Any:
        return self._send("POST", PREVIEW, json=body)

    def create_campaign(self, body: JSON) -> Any:
        return self._send("POST", "/v1/campaigns", json=body)

    def list_campaigns(self) -> Any:
        return self._send("GET", "/v1/campaigns")

    def read_campaign(self, campaign_id: str) -> Any:
        return self._send("GET", f"/v1/campaigns/{campaign_id}")

    def start_campaign(self, campaign_id: str, body: JSON | None) -> Any:
        return self._send("POST", f"/v1/campaigns/{campaign_id}/start", json=body)

    def read_execution(self, campaign_id: str, execution_id: str, **rest: Any) -> Any:
        return self._send("GET", f"/v1/campaigns/{campaign_id}/executions/{execution_id}", **rest)

    def cancel_campaign(self, campaign_id: str) -> Any:
        return self._send("POST", f"/v1/campaigns/{campaign_id}/cancel")

    def upload_media(self, parts: Sequence[Any]) -> Any:
        return self._send("POST", "/v1/messaging/media", files=parts)

    def list_messages(self, chat_id: str, query: JSON) -> Any:
        return self._send("GET", f"/v1/messaging/chats/{chat_id}", params=query)

    def create_session(self, body: JSON) -> Any:
        return self._send("POST", SESSIONS, json=body)

    def read_session(self, session_id: str, **rest: Any) -> Any:
        return self._send("GET", f"{SESSIONS}/{session_id}", **rest)

    def read_entrypoint(self, entrypoint_id: str) -> Any:
        return self._send("GET", f"/v1/entrypoints/{entrypoint_id}")

    def read_form_policy(self, form_id: str) -> Any:
        return self._send("GET", f"/v1/forms/{form_id}/embed-frame-policy")
