"""No view, file or log line shows a token or credentials, wherever a client has sent them, and a masked run replays to the same answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from mockserver.cli import main
from mockserver.server.control import access
from mockserver.server.control import page_paths as paths
from mockserver.server.control.routes import ROUTES
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.server.hosting.log_lines import ServerLog, as_json, as_text
from mockserver.testing.report.failed_runs import FailedRuns
from mockserver.testing.report.replay import replay
from mockserver.wire.response import HttpResponse
from tests.clients.operations import SESSIONS
from tests.server import hosts

SERVER = "server-t0ken/of+the-operator="
CREDENTIAL = "Zm9vOmJhcg-a-client-of-its-own"  # nothing that the server knows
FROZEN = {"freeze": "2026-03-01T12:00:00Z"}
DRAFT = {"platform": "chatapp", "templateId": "none", "cadence": 60}


class World(NamedTuple):
    """A server that requires a token, with a sandbox of a client's and the lines of its log in both forms."""

    host: SandboxHost
    hosted: HostedSandbox
    lines: list[str]
    as_members: list[str]
    folder: Path

    def send(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpResponse:
        """The response to a request below the prefix of the sandbox; without headers with the server's token."""
        own = {"authorization": f"Bearer {SERVER}"} if headers is None else dict(headers)
        return hosts.send(self.host, method, self.hosted.prefix + target, body, **own)


def secrets_of(world: World) -> dict[str, str]:
    """What the server knows and shows to nobody, by what it is."""
    tokens = {
        "server": SERVER,
        "own": world.host.sandbox_token(world.hosted.id),
        "other": world.host.sandbox_token("sandbox_77"),
    }
    cookies = {f"cookie of {name}": access.session_cookie(token).value for name, token in tokens.items()}
    return tokens | cookies


@pytest.fixture
def world(tmp_path: Path) -> World:
    host = hosts.host_of()
    host.token = SERVER
    host.failures = FailedRuns(tmp_path / "failures")
    lines: list[str] = []
    as_members: list[str] = []

    def write(line: Any) -> None:
        lines.extend(as_text(line))
        as_members.append(as_json(line))

    host.log = ServerLog(write)
    hosted = host.create_for_client(SandboxConfig(clock=FROZEN, labels={"job": "1"}))
    return World(host, hosted, lines, as_members, tmp_path / "failures")


def calls(key: str, secret: str) -> list[tuple[str, str, dict[str, str], bytes]]:
    """Calls of the API with a text in each place where a client can send it."""
    own = {"x-api-key": key}
    as_json = {**own, "content-type": "application/json"}
    draft = json.dumps({**DRAFT, "name": secret, "description": f"see https://a.example/?q={secret}"}).encode()
    upload = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{secret}"\r\n\r\n{secret}\r\n--b--\r\n'
    return [
        *(("GET", "/v1/campaigns", {**own, name: f"{scheme}{secret}"}, b"") for name, scheme in HEADERS),
        ("GET", "/v1/campaigns", {"x-api-key": secret}, b""),
        ("GET", f"/v1/campaigns?{quote(secret)}=1&q={quote(secret)}", own, b""),
        ("GET", f"/v1/campaigns/{secret}", own, b""),
        ("GET", f"/v1/{''.join(f'%{ord(char):02x}' for char in secret)}", own, b""),
        ("GET", f"/none/{secret}", {}, b""),
        (secret[:20].upper(), "/v1/campaigns", own, b""),
        ("POST", "/v1/campaigns", as_json, draft),
        ("POST", "/v1/campaigns", as_json, b'{"name": "' + secret.encode()),
        ("POST", "/v1/campaigns", as_json, json.dumps({secret: secret}).encode()),
        ("POST", "/v1/campaigns", {**own, "content-type": secret}, secret.encode()),
        ("POST", "/v1/messaging/media", {**own, "content-type": "multipart/form-data; boundary=b"}, upload.encode()),
        ("POST", "/v1/messaging/media", {**own, "content-type": "multipart/form-data; boundary=b"}, b"\xff\x00" + secret.encode()),
        ("GET", f"/connect/{secret}", {"cookie": secret}, b""),
        ("GET", f"/media/{secret}", {}, b""),
    ]  # fmt: skip


def commands(secret: str) -> list[tuple[str, str, bytes]]:
    """Commands with a text in each place where a client can send it."""
    rule = {"on": "listCampaigns", "where": {"header.authorization": f"Bearer {secret}", "query.q": secret}}
    reply = {"status": 500, "headers": {"X-A": secret, "Set-Cookie": f"a={secret}"}, "body": {secret: secret}}
    return [
        ("POST", "/_mock/rules", json.dumps({**rule, "do": {"reply": reply}, "mustFire": False}).encode()),
        ("POST", "/_mock/scenarios", json.dumps({"given": {"chats": [{"name": secret}]}}).encode()),
        ("POST", "/_mock/scenarios", json.dumps({secret: secret}).encode()),
        ("PATCH", "/_mock/tenants/tenant_default", json.dumps({"name": secret}).encode()),
        ("PATCH", "/_mock/choices", json.dumps({secret: secret}).encode()),
        ("POST", "/_mock/webhooks", json.dumps({"url": f"http://127.0.0.1:9/?token={secret}&q={secret}"}).encode()),
        ("POST", f"/_mock/{secret}", b""),
        ("DELETE", f"/_mock/rules/{secret}", b""),
    ]


# Headers whose value is a secret by their name or by what the server knows, and what is before it.
HEADERS = (
    ("authorization", "Bearer "), ("authorization", "bearer "), ("authorization", ""), ("cookie", "a=b; mockserver_1="),
    ("proxy-authorization", "Basic "), ("x-anything", ""), ("referer", "http://127.0.0.1:5055/_mock/?a="), ("user-agent", "x/"),
    ("traceparent", ""), ("x-auth-token", ""),
)  # fmt: skip
VIEWS = sorted({route.path for route in ROUTES if route.method == "GET" and "{" not in route.path})
PAGES = [paths.ROOT, *(f"/_mock/{view}" for view in paths.VIEWS), "/_mock/calls/1", "/_mock/calls/12"]
FILES = {"TestX.har", "TestX.html", "TestX.txt", "TestX.yaml"}


def written(world: World) -> dict[str, str]:
    """Every text that is read later, by the view, page, file or log that has it."""
    shown = {path: world.send("GET", path).body.decode() for path in VIEWS}
    shown |= {f"{path}, a page": world.send("GET", path, BROWSER).body.decode() for path in PAGES}
    shown["verified"] = world.send("POST", "/_mock/journal/verify", None, VERIFY).body.decode()
    shown["report"] = world.send("POST", "/_mock/report?failure=x&name=TestX").body.decode()
    shown |= {file.name: file.read_text("utf-8") for file in world.folder.iterdir()}
    events = json.loads(world.send("GET", "/_mock/events").body)["events"]
    shown |= {event["id"]: world.send("GET", f"/_mock/events/{event['id']}").body.decode() for event in events}
    shown |= {"log as text": "".join(world.lines), "log as JSON": "".join(world.as_members)}
    for name in ("/_mock/replay", "/_mock/har"):
        hidden = [base64.b64decode(text).decode("latin-1") for text in _base64(json.loads(shown[name]))]
        shown[f"{name}, bytes"] = "\n".join(hidden)
    return shown


BROWSER = {"authorization": f"Bearer {SERVER}", "accept": "text/html"}
VERIFY = json.dumps(
    {"operation": "*", "times": 999, "where": {"header.authorization": "x", "header.cookie": "x"}}
).encode()


def _base64(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        own = [value["base64"]] if "base64" in value else []
        own += [value["text"]] if value.get("encoding", value.get("_encoding")) == "base64" else []
        return [*own, *(text for each in value.values() for text in _base64(each))]
    return [text for each in value for text in _base64(each)] if isinstance(value, list) else []


def places_of(secret: str, shown: Mapping[str, str]) -> list[str]:
    return [place for place, text in shown.items() if secret in text or quote(secret) in text]


@pytest.mark.parametrize("which", ["server", "own", "other", "cookie of server", "cookie of own", "cookie of other"])
def test_no_view_file_or_log_line_shows_a_token_that_opens_the_server(world: World, which: str) -> None:
    secret = secrets_of(world)[which]
    for method, target, headers, body in calls(world.hosted.tenant.secret_key, secret):
        world.send(method, target, headers, body)
    for method, target, body in commands(secret):
        world.send(method, target, None, body)

    shown = written(world)

    assert {*shown} >= FILES
    assert [] == places_of(secret, shown)


Sent = tuple[str, str, dict[str, str], bytes]
FORM = {"content-type": "application/x-www-form-urlencoded"}
AS_JSON = {"content-type": "application/json"}


def read(query: str = "", /, **headers: str) -> Sent:
    return "GET", f"/v1/campaigns{query}", headers, b""


def posted(headers: Mapping[str, str], text: str) -> Sent:
    """A creation with a body, of which each character is a byte."""
    return "POST", "/v1/campaigns", dict(headers), text.encode("latin-1")


def member(value: Any, target: str = "/v1/campaigns", **headers: str) -> Sent:
    return "POST", target, {**AS_JSON, **headers}, json.dumps(value).encode()


URL = f"https://a.example/?access_token={CREDENTIAL}"
URLS = (URL, quote(URL, safe=""))
# By its name alone: what the tools of browsers and proxies mask.
SECRET_HEADERS = (
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-auth-token",
    "x-client-secret",
    "x-password",
    "x-api-key",
    "x-authorization",
    "x-forwarded-authorization",
    "x-rapidapi-key",
    "x-my-api-key",
    "x-client-key",
    "x-jwt",
    "cookie2",
)
SCHEMES = ("Basic", "Bearer", "Digest", "basic", "AWS4-HMAC-SHA256")
SECRET_PARAMETERS = (
    "access_token", "ACCESS_TOKEN", "accessToken", "access%5Ftoken", "client_secret", "password", "key", "api_key", "apiKey",
    "code", "code_verifier", "assertion", "jwt", "sig", "signature", "X-Amz-Signature", "sid", "session", "pass", "access[token]",
)  # fmt: skip
FORMS = (
    f"password={CREDENTIAL}&token={CREDENTIAL}",
    f"a=1&password=a'{CREDENTIAL}",
    f"password=a <{CREDENTIAL}",
    f"password={CREDENTIAL}\r\n",
    f"a=\xff\0&password={CREDENTIAL}",
    *(f"returnUrl={url}&a=1" for url in URLS),
)
NAMED: tuple[Sent, ...] = (
    *(read(**{name: CREDENTIAL}) for name in SECRET_HEADERS),
    *(read(authorization=f"{scheme} {CREDENTIAL}") for scheme in SCHEMES),
    read(referer=f"http://a.example/?access_token={CREDENTIAL}"),
    *(read(f"?a=1&{name}={CREDENTIAL}") for name in SECRET_PARAMETERS),
    read(f"?token={CREDENTIAL}"),
    read(f"?a=1;access_token={CREDENTIAL}"),
    *(read(f"?access_token=a{char}{CREDENTIAL}") for char in "'\"<?;"),
    *(read(f"?returnUrl={url}", **{"x-callback": f"https://a.example/?next={url}"}) for url in URLS),
    *(posted(FORM, text) for text in FORMS),
    posted({}, json.dumps({"password": f"a\"'{CREDENTIAL}"})[:-1]),
    *(member({name: CREDENTIAL, "a": [{name: CREDENTIAL}]}) for name in ("password", "access_token", "clientSecret")),
    member({"name": f"https://a.example/?next={URLS[0]}"}),
    member({"returnUrl": f"https://user:{CREDENTIAL}@a.example/"}, referer=f"https://{CREDENTIAL}@a.example/"),
    member({"returnUrl": f"https://a.example/?token={CREDENTIAL}"}, SESSIONS),
)


def test_no_view_file_or_log_line_shows_what_its_name_shows_to_be_secret(world: World) -> None:
    for method, target, headers, body in NAMED:
        world.send(method, target, {"x-api-key": world.hosted.tenant.secret_key, **headers}, body)

    shown = written(world)

    assert [] == places_of(CREDENTIAL, shown)
    assert [] == [row.label for row in replay(json.loads(shown["/_mock/replay"])) if row.differences]


def test_the_masked_files_of_a_failed_test_are_replayed_and_judged(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    key = world.hosted.tenant.secret_key
    sent = {"x-api-key": key, "cookie": f"a={CREDENTIAL}", "authorization": f"Bearer {SERVER}"}
    for query in (f"?access_token={CREDENTIAL}", f"?q={SERVER}", ""):
        world.send("GET", f"/v1/campaigns{query}", sent)
    world.send("POST", "/v1/campaigns", {**sent, **AS_JSON}, json.dumps({**DRAFT, "name": SERVER}).encode())
    world.send("POST", "/_mock/report?failure=x&name=TestX")

    assert 0 == main(["replay-calls", str(world.folder / "TestX.yaml")])
    assert 0 == main(["judge", str(world.folder / "TestX.har")]), capsys.readouterr().out


def test_the_forms_of_the_hosted_page_are_replayed_and_the_headers_of_its_browser_are_masked(world: World) -> None:
    key = world.hosted.tenant.secret_key
    made = json.loads(world.send("POST", SESSIONS, {"x-api-key": key, **AS_JSON}, b"{}").body)
    link = "/connect/" + made["url"].rpartition("/")[2]
    world.send("GET", link, {"cookie": CREDENTIAL, "authorization": f"Basic {CREDENTIAL}"})
    world.send("POST", link, FORM, b"step=intro&press=continue&secret=a-field-of-the-page")

    visits = [
        step for step in json.loads(world.send("GET", "/_mock/replay").body)["calls"] if "/connect/" in step["call"]
    ]

    assert {"cookie": "...", "authorization": "Basic ..."} == visits[0]["headers"]
    assert "step=intro&press=continue&secret=a-field-of-the-page" == visits[1]["body"]
