"""A stateful contract mock of a CRM gateway's HTTP API. Public names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mockserver.version import VERSION as __version__

if TYPE_CHECKING:
    from mockserver.scenario.problems import ScenarioError
    from mockserver.server.app import create_app
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer
    from mockserver.unittest_case import SandboxTestCase

__all__ = ["MockServer", "Sandbox", "SandboxTestCase", "ScenarioError", "__version__", "create_app"]

_HOMES = {
    "MockServer": "mockserver.testing.server",
    "Sandbox": "mockserver.testing.sandbox",
    "SandboxTestCase": "mockserver.unittest_case",
    "ScenarioError": "mockserver.scenario.documents",
    "create_app": "mockserver.server.app",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mockserver' has no attribute {name!r}")
