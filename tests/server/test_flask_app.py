"""The Flask application: its routes are the tables, and its answers are those of the socket and of a call in process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import flask
import pytest
import requests

from mockserver import create_app
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.server.app import build
from mockserver.server.control.routes import ROUTES
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from tests.processes import OWN_GROUP, interrupt
from tests.server.hostile import Request, send
from tests.server.ways import CONFIG, Way

ROOT = Path(__file__).resolve().parents[2]


# The routes


def rows(app: flask.Flask, blueprint: str) -> set[tuple[str, str, str]]:
    """Name, method and template of the routes of a blueprint; HEAD is named where GET is not followed by it."""
    rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith(f"{blueprint}.")]
    return {
        (rule.endpoint.removeprefix(f"{blueprint}."), method, re.sub("<(.*?)>", r"{\1}", rule.rule))
        for rule in rules
        for method in rule.methods or ()
    }


def test_each_operation_has_a_route_named_by_its_id() -> None:
    declared = {(row.id, row.method, row.path) for row in ENDPOINTS.values()}
    heads = {(row.id, "HEAD", row.path) for row in ENDPOINTS.values() if row.method == "GET"}

    assert 16 == len(declared)
    assert declared | heads == rows(create_app(), "api")


def test_each_control_command_has_a_route_named_by_its_id() -> None:
    declared = {(row.id, row.method, row.path) for row in ROUTES}
    heads = {(row.id, "HEAD", row.path) for row in ROUTES if row.method == "GET"}  # refused, as over a socket

    assert declared | heads == rows(create_app(), "control")


def test_flask_runs_the_mock() -> None:
    command = [sys.executable, "-m", "flask", "--app", 'mockserver:create_app("demo")', "run", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", **OWN_GROUP
    )
    try:
        assert process.stderr is not None
        url = next(found[0] for line in process.stderr if (found := re.findall(r"http://127\.0\.0\.1:\d+", line)))
        with requests.Session() as session:
            session.trust_env = False
            health = session.get(f"{url}/_mock/health", timeout=20)
            unknown = session.get(f"{url}/v1/nothing/", timeout=20)
    finally:
        interrupt(process)
        process.communicate(timeout=20)

    assert 200 == health.status_code
    assert (404, 404) == (unknown.status_code, unknown.json()["statusCode"])


# The answers


# fmt: off
ODD = (
    "/v1/campaigns", "/v1/campaigns/", "/v1//campaigns", "//v1/campaigns", "///v1/campaigns", "/v1", "/v1/", "/",
    "//", "/api/v1/campaigns", "/V1/campaigns", "/v1/Campaigns", "/v1/campaigns;a=b", "/v1/campaigns%3Fx",
    "/v1/campaigns?", "/v1/campaigns?a=/b//c", "/v1/%63ampaigns", "/v1%2Fcampaigns", "/v1/campaigns/a%2Fb",
    "/v1/campaigns/a%2fstart", "/v1/campaigns/%2F", "/v1/campaigns/a/b", "/v1/campaigns/.", "/v1/campaigns/..",
    "/v1/./campaigns", "/v1/../v1/campaigns", "/v1/campaigns/%2e%2e", "/v1/campaigns/..%2f..", "/v1/campaigns/%C3%A7",
    "/v1/campaigns/%FF", "/v1/campaigns/%00", "/v1/campaigns/%0A", "/v1/campaigns/%zz", "/v1/campaigns/%",
    "/v1/campaigns/%20", "/v1/campaigns/+", "/v1/campaigns/a|b", "/v1/campaigns/<id>", "/v1/campaigns/{id}",
    "/v1/campaigns/\xc3\xa7", "/v1/campaigns/\xff", "/v1/campaigns//start", "/v1/campaigns/a/start",
    "/v1/campaigns/a%2Fb/start", "/v1/campaigns/a/start/", "/v1/campaigns/audience-preview",
    "/v1/campaigns/filters/schema", "/v1/campaigns/filters/start", "/v1/message-templates/template_revisao_semestral",
    "/v1/message-templates/a/b", "/v1/entrypoints/chatapp/connection-sessions",
    "/v1/entrypoints/chatapp/connection-sessions/a%2Fb", "/v1/entrypoints/chatapp", "/v1/messaging/media",
    "/v1/messaging/chats/chat_helena?limit=2", "/v1/messaging/chats/chat_helena?limit=%20", "/v1/messaging/chats/",
    "/_mock", "/_mock/", "/_mock/health", "/_mock/health/", "/_mock//health", "//_mock/health", "/_mock/%68ealth",
    "/_mock/nothing", "/_mock/clock", "/_mock/rules/a%2Fb", "/_mock/rules/", "/_mock/tenants/tenant_default",
    "/_mock/tenants/%2F", "/_mock/sandboxes/none", "/_mock/tenants/a/b", "/media", "/media/", "/media/x",
    "/media/a%2Fb", "/media/a/b", "/media//x", "/connect", "/connect/", "/connect/x", "/connect/a/b", "/connect/walk",
    "/connect/walk/", "/connect/walk/x", "/connect/walk/a%2Fb", "/connect//x", "/connect/style.css",
    "/connect/icon.svg", "/connect/%73tyle.css", "/static/x", "/favicon.ico", "/robots.txt",
)
# fmt: on
# The prefix of a sandbox, one that does not exist, and what only resembles a prefix.
PREFIXES = ("", "/sandboxes/odd", "/sandboxes/none", "/sandboxes/", "/sandboxes", "/sandboxes/%6fdd", "//sandboxes/odd")
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "get", "M-SEARCH")


@pytest.mark.parametrize(
    ("method", "prefix"),
    [
        # Each method and each prefix in the test line, every pair of them in the deep run.
        pytest.param(method, prefix, marks=[pytest.mark.deep] * (METHODS[0] != method and PREFIXES[0] != prefix))
        for method, prefix in product(METHODS, PREFIXES)
    ],
)
@pytest.mark.clause("base.prefix", "base.unknown-path")
def test_odd_paths_have_the_same_answers_and_journal_in_every_way(
    ways: Mapping[str, Way], method: str, prefix: str
) -> None:
    asked = [Request(method, prefix + path) for path in ODD]

    expected, *others = [way.played("odd", asked) for way in ways.values()]

    for found in others:
        for request, wanted, got in zip(asked, expected[0], found[0], strict=True):
            assert wanted == got, request
        assert expected[1] == found[1]
    assert not {301, 302, 307, 308, 500} & {each.status for each in expected[0]}


# What hooks of the application read


def matched(app: flask.Flask, request: Request) -> tuple[str | None, Mapping[str, Any]]:
    """The route and the parameters that a hook of the application reads."""
    seen: list[tuple[str | None, Mapping[str, Any]]] = []

    def note(*_: object, **__: object) -> None:
        seen.append((flask.request.endpoint, flask.request.view_args or {}))

    with flask.request_started.connected_to(note, app):
        send(app, request)
    return seen[0]


def test_a_port_of_one_sandbox_has_no_prefixes() -> None:
    host = SandboxHost()
    hosted = host.create(CONFIG)
    hosted.own_origin = "http://localhost:1"

    assert (None, {}) == matched(build(host, hosted), Request("GET", f"{hosted.prefix}/v1/campaigns"))
    assert ("api.listCampaigns", {}) == matched(build(host, hosted), Request("GET", "/v1/campaigns"))


def test_urls_of_routes_are_below_the_prefix_of_the_request() -> None:
    app = create_app()
    with app.test_request_context(f"/sandboxes/{DEFAULT_ID}/v1/campaigns", base_url="http://localhost/mount"):
        assert f"/mount/sandboxes/{DEFAULT_ID}/v1/campaigns/a%2Fb" == flask.url_for("api.readCampaign", id="a/b")
    with app.test_request_context("/v1/campaigns"):
        assert "/connect/walk/x" == flask.url_for("page.flow", secret="x")
