"""The project's own test settings: Hypothesis profiles, a fixed time zone, and a server that checks its own answers."""

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from mockserver import MockServer

os.environ["TZ"] = "UTC"
time.tzset()

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

pytest_plugins = ["mockserver.pytest_plugin", "pytester"]


@pytest.fixture(scope="session")
def mockserver_server() -> Iterator[MockServer]:
    """As the plugin's, and every answer is held to its schema."""
    server = MockServer(strict=True)
    yield server
    server.close()
