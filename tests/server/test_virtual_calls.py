"""`POST /_mock/calls`: a call whose waits move the sandbox's clock, for clients in any language and on any machine."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.clients.operations import SESSIONS
from tests.server.control_calls import Made

RULE = {"on": "listCampaigns", "times": 1}


def call(made: Made, method: str = "GET", path: str = "/v1/campaigns", **rest: Any) -> Any:
    headers = {"X-API-Key": made.secret_key, "Content-Type": "application/json"}
    reply = made.control("POST", "/calls", {"method": method, "path": path, "headers": headers, **rest})
    assert 200 == reply.status_code, reply.text
    return reply.json()


def script(made: Made, **effects: Any) -> None:
    assert 201 == made.control("POST", "/scenarios", {"script": [{**RULE, "do": effects}]}).status_code


def now(made: Made) -> str:
    return str(made.control("GET", "/clock").json()["now"])


def test_it_returns_what_the_api_returns(made: Made) -> None:
    direct = made.api("GET", "/v1/campaigns?limit=1")
    answer = call(made, path="/v1/campaigns?limit=1")

    assert (direct.status_code, direct.content) == (answer["status"], base64.b64decode(answer["bodyBase64"]))
    assert "whole" == answer["end"]
    assert {"listCampaigns"} == {row["operation"] for row in made.control("GET", "/journal").json()["exchanges"]}


def test_a_body_is_sent_as_it_is_and_urls_have_the_address_of_the_caller(made: Made) -> None:
    body = base64.b64encode(json.dumps({"returnUrl": "https://clinic.example/"}).encode()).decode()
    answer = call(made, "POST", SESSIONS, bodyBase64=body)

    assert json.loads(base64.b64decode(answer["bodyBase64"]))["url"].startswith(f"{made.base}/connect/")


def test_a_delay_moves_the_clock_and_takes_no_real_time(made: Made) -> None:
    script(made, delay="1h")

    assert 200 == call(made)["status"]
    assert "2026-03-01T13:00:00.000Z" == now(made)


@pytest.mark.parametrize(("fault", "reason"), [("drop", "drop"), ("reset", "reset")])
def test_a_broken_connection_is_no_response(made: Made, fault: str, reason: str) -> None:
    script(made, **{fault: "after"})

    assert {"noResponse": reason} == call(made)


def test_a_truncated_body_is_cut(made: Made) -> None:
    script(made, truncate=3)
    answer = call(made)

    assert (3, "cut") == (len(base64.b64decode(answer["bodyBase64"])), answer["end"])
    assert answer["wholeBytes"] > 3
