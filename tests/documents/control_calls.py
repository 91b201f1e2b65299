"""
Calls of the control plane that hold every answer to its document.

`Controls` notes which command was refused with which code, and which parts of the answers' schemas a value had.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlencode

from ruamel.yaml import YAML

from mockserver.server.control.openapi.answers import answer, answer_components
from mockserver.server.control.routes import COMMANDS, ROUTES
from mockserver.server.exchange import NO_TIMEOUT, ClientWait, Response
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse
from tests.documents.reading import BASE_URL, JSON, DocumentedOperation, control, operations, validator

NOON = "2026-03-01T12:00:00Z"
LOCAL = {"host": "127.0.0.1"}


@cache
def _documented() -> Mapping[str, DocumentedOperation]:
    return operations(control())


@cache
def _check(command: str, status: int, media_type: str) -> Any:
    schema = _documented()[command].raw["responses"][str(status)]["content"][media_type]["schema"]
    return validator(control(), schema)


def undocumented(command: str, status: int, media_type: str, body: Any) -> list[str]:
    """Return what in an answer is not in the document; `body` is None for one without content."""
    responses = _documented()[command].raw["responses"]
    if str(status) not in responses:
        return [f"{command}: status {status}"]
    contents = responses[str(status)].get("content", {})
    if body is None or not contents:
        return [] if body is None and not contents else [f"{command} {status}: content"]
    if media_type not in contents:
        return [f"{command} {status}: {media_type}"]
    return [f"{command} {status}: {error}" for error in _check(command, status, media_type).iter_errors(body)]


def _read(media_type: str, text: str) -> Any:
    if media_type.startswith("text/"):
        return text
    return json.loads(text) if media_type == "application/json" else YAML(typ="safe", pure=True).load(text)


class Controls:
    """A host with the demo as its default sandbox, and what its control plane has answered."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self.host = SandboxHost()
        self.default = self.host.create(SandboxConfig("demo", clock={"freeze": NOON}, given=given), id=DEFAULT_ID)
        self.succeeded: set[str] = set()
        self.refused: set[tuple[str, int, str]] = set()
        self.parts: set[str] = set()

    def run(self, command: str, body: Any = None, query: str = "", prefix: str = "", **options: Any) -> Any:
        """Run a command that succeeds; return its answer."""
        status, answer = self.call(command, body, query, prefix, **options)
        assert COMMANDS[command].status == status, (command, answer)
        return answer

    def refuse(
        self, command: str, code: str, body: Any = None, query: str = "", prefix: str = "", **options: Any
    ) -> str:
        """Run a command that is refused with this code; return the message."""
        _, answer = self.call(command, body, query, prefix, **options)
        assert code == answer["code"], (command, answer)
        return str(answer["message"])

    def call(
        self,
        command: str,
        body: Any = None,
        query: str = "",
        prefix: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        root: HostedSandbox | None = None,
        **params: str,
    ) -> tuple[int, Any]:
        """Call a command; hold its answer to the document."""
        row = COMMANDS[command]
        path = row.path
        for name, value in params.items():
            path = path.replace(f"{{{name}}}", value)
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = HttpRequest.create(row.method, prefix + path + query, {**LOCAL, **(headers or {})}, content, BASE_URL)
        response, after = handle_request(self.host, request, root)
        assert isinstance(response, HttpResponse)
        after()
        media_type = dict(response.headers).get("Content-Type", "").partition(";")[0]
        text = response.body.decode()
        answer = _read(media_type, text) if text else None
        assert [] == undocumented(command, response.status, media_type, answer)
        self._note(command, response.status, answer)
        return response.status, answer

    def _note(self, command: str, status: int, shown: Any) -> None:
        if status >= 400:
            self.refused.add((command, status, shown["code"]))
            visit({"$ref": "#/components/schemas/ControlError"}, shown, "", self.parts)
            return
        self.succeeded.add(command)
        visit(answer_schema(command), shown, command, self.parts)

    def api(
        self,
        method: str,
        path: str,
        body: Any = None,
        client: ClientWait = NO_TIMEOUT,
        content_type: str = "application/json",
    ) -> Any:
        """Call the public API of the default sandbox with its secret key; return the answer, None if there is none."""
        headers = {"x-api-key": self.default.tenant.secret_key, "content-type": content_type}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        response = self._send(method, path, headers, content, client)
        return response.json() if isinstance(response, HttpResponse) and response.body else None

    def page(self, method: str, path: str, form: Mapping[str, str] | None = None) -> str:
        """Request the hosted page, redirects followed; return its HTML, nothing for a page of another site."""
        headers = {"content-type": "application/x-www-form-urlencoded", "origin": BASE_URL}
        response = self._send(method, path, headers, urlencode(form or {}).encode(), NO_TIMEOUT)
        assert isinstance(response, HttpResponse)
        location = dict(response.headers).get("Location", "")
        if location.startswith(("/", BASE_URL)):
            return self.page("GET", location.removeprefix(BASE_URL))
        return "" if location else response.body.decode()

    def _send(self, method: str, path: str, headers: Mapping[str, str], content: bytes, client: ClientWait) -> Response:
        request = HttpRequest.create(method, path, {**LOCAL, **headers}, content, BASE_URL)
        response, after = handle_request(self.host, request, client=client)
        after()
        return response


def visit(schema: JSON, value: Any, place: str, parts: set[str]) -> None:
    """Add each property of the answers' own schemas that the value has, as COMPONENT.PATH or COMMAND.PATH."""
    components = own_components()
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in components:
            visit(components[name], value, name, parts)
        return
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if value is not None:
            visit(alternative, value, place, parts)
    others = schema.get("additionalProperties")
    match value:
        case dict():
            present = {key: below for key, below in schema.get("properties", {}).items() if value.get(key) is not None}
            parts |= {f"{place}.{key}" for key in present}
            inside = [(below, value[key], f"{place}.{key}") for key, below in present.items()]
            inside += [(others, item, f"{place}.*") for item in value.values() if isinstance(others, dict)]
        case list() if "items" in schema:
            inside = [(schema["items"], item, f"{place}[]") for item in value]
        case _:
            inside = []
    for below, item, name in inside:
        visit(below, item, name, parts)


def answer_schema(command: str) -> JSON:
    """Return the schema of a command's answer, empty for one without content."""
    return answer(COMMANDS[command].handler) or {}


@cache
def own_components() -> Mapping[str, JSON]:
    """Return the components that the answers alone have: not those of documents and of the public API."""
    return answer_components()


def described_parts() -> set[str]:
    """Return every property that the schemas of the answers describe, as `visit` names them."""
    parts: set[str] = set()
    for command in COMMANDS:
        _describe(answer_schema(command), command, parts)
    for name, schema in own_components().items():
        _describe(schema, name, parts)
    return parts


def _describe(schema: JSON, place: str, parts: set[str]) -> None:
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        _describe(alternative, place, parts)
    for key, below in schema.get("properties", {}).items():
        parts.add(f"{place}.{key}")
        _describe(below, f"{place}.{key}", parts)
    if isinstance(schema.get("additionalProperties"), dict):
        _describe(schema["additionalProperties"], f"{place}.*", parts)
    if "items" in schema:
        _describe(schema["items"], f"{place}[]", parts)


def described_refusals() -> set[tuple[str, int, str]]:
    """Return every refusal that the document describes: command, status and code."""
    return {
        (row.id, int(status), code)
        for row in ROUTES
        for status, answer in _documented()[row.id].raw["responses"].items()
        if int(status) >= 400
        for code in answer["content"]["application/json"]["schema"]["allOf"][1]["properties"]["code"]["enum"]
    }
