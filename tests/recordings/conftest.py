"""One honest life for all tests that bend it."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from mockserver._json import JSON
from tests.recordings.honest import honest_life


@pytest.fixture(scope="session")
def life() -> dict[str, JSON]:
    with MockServer() as server, server.sandbox() as sandbox:
        return honest_life(sandbox)
