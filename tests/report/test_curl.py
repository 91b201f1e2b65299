"""A call as a command of curl: what a shell hands to curl is the request again."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from mockserver.report.curl import curl

ADDRESS = "http://127.0.0.1:5055/sandboxes/sandbox_1"
LINE_END = "\\\n"
REQUEST = {
    "method": "POST",
    "path": "/v1/campaigns/it's",
    "query": {"limit": "10", "name": "a b"},
    "headers": {"x-api-key": "sk_...", "host": "localhost", "x-own": "$(date) 'x'"},
    "body": {"name": "it's $HOME"},
}


@pytest.mark.parametrize(
    ("given", "address", "key"),
    [
        ({}, "$URL", "$KEY"),
        ({"address": ADDRESS, "key": "sk_a$b"}, ADDRESS, "sk_a$b"),
    ],
    ids=["variables", "the address and the key"],
)
def test_the_arguments_of_the_command_are_the_request(given: dict[str, str], address: str, key: str) -> None:
    assert [
        "curl",
        "-X",
        "POST",
        f"{address}/v1/campaigns/it's?limit=10&name=a+b",
        "-H",
        f"X-API-Key: {key}",
        "-H",
        "x-own: $(date) 'x'",
        "--data-raw",
        '{"name": "it\'s $HOME"}',
    ] == shlex.split(curl(REQUEST, **given).replace(LINE_END, ""))


@pytest.mark.parametrize(("body", "last"), [(None, "X-API-Key: $KEY"), ("plain", "plain"), ("", "")])
def test_a_body_is_sent_if_there_is_one(body: Any, last: str) -> None:
    request = {**REQUEST, "headers": {}, "body": body}

    assert last == shlex.split(curl(request).replace(LINE_END, ""))[-1]
