"""The sandbox that most runs probe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mockserver import MockServer, Sandbox
from tests.probe.worlds import world


@pytest.fixture
def sandbox(mockserver_server: MockServer) -> Iterator[Sandbox]:
    with world(mockserver_server) as sandbox:
        yield sandbox
