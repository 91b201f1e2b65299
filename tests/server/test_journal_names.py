"""Names by which the journal is queried: operation id, `METHOD /path`, `*`; and names that it refuses."""

import pytest
import requests

from mockserver import Sandbox


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
