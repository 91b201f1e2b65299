"""A stateful contract mock of a CRM gateway's HTTP API. Public names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockserver.coverage.coverage import Coverage
    from mockserver.scenario.problems import ScenarioError
    from mockserver.server.app import create_app
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer
    from mockserver.unittest_case import SandboxTestCase
    from mockserver.version import VERSION as __version__

__all__ = ["Coverage", "MockServer", "Sandbox", "SandboxTestCase", "ScenarioError", "__version__", "create_app"]

_HOMES = {
    "Coverage": ("mockserver.coverage.coverage", "Coverage"),
    "MockServer": ("mockserver.testing.server", "MockServer"),
    "Sandbox": ("mockserver.testing.sandbox", "Sandbox"),
    "SandboxTestCase": ("mockserver.unittest_case", "SandboxTestCase"),
    "ScenarioError": ("mockserver.scenario.documents", "ScenarioError"),
    "__version__": ("mockserver.version", "VERSION"),
    "create_app": ("mockserver.server.app", "create_app"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'mockserver' has no attribute {name!r}")
