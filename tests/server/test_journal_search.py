"""The search for a text in the journal: it finds what the answer shows, and renders no more than that."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
import requests

from mockserver import Sandbox

CAMPAIGN = {"name": "Promoção de MARÇO", "platform": "chatapp", "templateId": "template_vencimento", "cadence": 7919}


@pytest.fixture
def played(mockserver: Sandbox) -> Sandbox:
    mockserver.on("listCampaigns").nth(1).drop("after")
    with pytest.raises(ConnectionError):
        mockserver.call("GET", "/v1/campaigns")
    mockserver.call("POST", "/v1/campaigns", json=CAMPAIGN)
    mockserver.call("GET", "/v1/campaigns/campaign_none?page=Tr%C3%AAs", headers={"X-Trace": "Abacaxi"})
    mockserver.call("POST", "/v1/campaigns", body=b"caf\xc3\xa9 \xff", headers={"Content-Type": "application/json"})
    mockserver.choose({"success-status": "all-200"})
    mockserver.call("GET", "/v1/message-templates")
    return mockserver


def search(sandbox: Sandbox, text: str, **query: str) -> list[int]:
    answer = sandbox.call("GET", f"/_mock/journal?{urlencode({'text': text, **query})}").json()
    return [exchange["n"] for exchange in answer["exchanges"]]


def texts(value: Any) -> list[str]:
    """Every value of a JSON value as a text."""
    if isinstance(value, dict | list):
        return [text for item in (value.values() if isinstance(value, dict) else value) for text in texts(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def test_every_value_of_an_exchange_is_found_in_any_case(played: Sandbox) -> None:
    for exchange in played.call("GET", "/_mock/journal").json()["exchanges"]:
        missing = [text for text in texts(exchange) if exchange["n"] not in search(played, text.upper())]
        assert [] == missing


def test_the_newest_or_the_oldest_of_the_exchanges_with_a_text_are_returned(played: Sandbox) -> None:
    assert ([2, 3, 4], [3, 4], [2]) == (
        search(played, "/v1/campaigns", since="1"),
        search(played, "/v1/campaigns", last="2"),
        search(played, "/v1/campaigns", since="1", limit="1"),
    )


def test_a_search_finds_no_key_that_the_answer_masks(played: Sandbox) -> None:
    assert [] == search(played, played.secret_key)
    assert [] == search(played, played.secret_key[:8])


def test_an_escaped_text_is_found(mockserver: Sandbox) -> None:
    body = json.dumps({**CAMPAIGN, "name": "Ação"}).encode()
    assert b"\\u00e7" in body
    mockserver.call("POST", "/v1/campaigns", body=body, headers={"Content-Type": "application/json"})

    assert [1] == search(mockserver, "ação")


@pytest.fixture
def mock(mockserver: Sandbox) -> str:
    """The control plane of a sandbox that has seen one create that was refused, and one listing."""
    mockserver.call("POST", "/v1/campaigns", json={})
    mockserver.call("GET", "/v1/campaigns")
    return f"{mockserver.base_url}/_mock"


@pytest.mark.parametrize(
    ("name", "count"),
    [("createCampaign", 1), ("POST /v1/campaigns", 1), ("GET /v1/campaigns", 1), ("*", 2), ("startCampaign", 0)],
)
def test_an_operation_answers_to_its_names(mock: str, name: str, count: int) -> None:
    listed = requests.get(f"{mock}/journal", params={"operation": name}, timeout=60).json()["exchanges"]
    verified = requests.post(f"{mock}/journal/verify", json={"operation": name, "times": count}, timeout=60).json()

    assert count == len(listed)
    assert (True, count) == (verified["ok"], verified["count"])
