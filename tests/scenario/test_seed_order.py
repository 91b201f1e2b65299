"""Of equal instants, listings keep the order of seed data."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox

KINDS = [
    ("templates", "template_", "/v1/message-templates"),
    ("campaigns", "campaign_", "/v1/campaigns"),
]


def _listed(sandbox: Any, path: str, prefix: str) -> str:
    body = sandbox.call("GET", path).json()
    rows = body if isinstance(body, list) else next(value for value in body.values() if isinstance(value, list))
    return "".join(row["id"].removeprefix(prefix) for row in rows)


@pytest.mark.parametrize("order", ["newest-first", "oldest-first"])
@pytest.mark.parametrize(("kind", "prefix", "path"), KINDS)
def test_of_equal_instants_the_order_given_is_kept(
    mockserver: Sandbox, kind: str, prefix: str, path: str, order: str
) -> None:
    mockserver.choose({"list-order": order})
    given: dict[str, Any] = {"templates": [{"id": "template_x", "createdAt": "2020-01-01T00:00:00Z"}]}
    given[kind] = [{"id": f"{prefix}{letter}"} for letter in "cab"]
    if kind == "campaigns":
        given[kind] = [{**row, "templateId": "template_x"} for row in given[kind]]
    mockserver.apply({"given": given})

    assert "cab" == _listed(mockserver, path, prefix)


def test_of_two_documents_the_later_ones_records_are_newer(mockserver: Sandbox) -> None:
    for letters in ("ab", "cd"):
        mockserver.apply({"given": {"templates": [{"id": f"template_{letter}"} for letter in letters]}})

    assert "cdab" == _listed(mockserver, "/v1/message-templates", "template_")
