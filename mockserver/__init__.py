"""A stateful contract mock of a CRM gateway's HTTP API. Public names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockserver.contract.samples import sample_file
    from mockserver.judge.coverage.coverage import Coverage
    from mockserver.scenario.problems import ScenarioError
    from mockserver.server.app import create_app
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer
    from mockserver.trace.reading import read_recording
    from mockserver.unittest_case import SandboxTestCase
    from mockserver.version import VERSION as __version__

__all__ = [
    "Coverage",
    "MockServer",
    "Sandbox",
    "SandboxTestCase",
    "ScenarioError",
    "__version__",
    "create_app",
    "read_recording",
    "sample_file",
]

_HOMES = {
    "Coverage": ("mockserver.judge.coverage.coverage", "Coverage"),
    "MockServer": ("mockserver.testing.server", "MockServer"),
    "Sandbox": ("mockserver.testing.sandbox", "Sandbox"),
    "SandboxTestCase": ("mockserver.unittest_case", "SandboxTestCase"),
    "ScenarioError": ("mockserver.scenario.documents", "ScenarioError"),
    "__version__": ("mockserver.version", "VERSION"),
    "create_app": ("mockserver.server.app", "create_app"),
    "read_recording": ("mockserver.trace.reading", "read_recording"),
    "sample_file": ("mockserver.contract.samples", "sample_file"),
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from mockserver._collision import find_collision

        if collision := find_collision():
            raise ImportError(collision)
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'mockserver' has no attribute {name!r}")
