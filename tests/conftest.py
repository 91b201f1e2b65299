"""The package as others get it, built once for all the tests that want it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver import Sandbox
from tests import wheels
from tests.harness.access import BOTH, Access
from tests.wheels import Built


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return wheels.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed in it, named so that tools recognise it as a folder of installed packages."""
    place = tmp_path_factory.mktemp("site") / "site-packages"
    wheels.install(built.wheel, place)
    return place


@pytest.fixture(params=BOTH)
def access(request: pytest.FixtureRequest, mockserver: Sandbox) -> Access:
    """The way to call the sandbox of the test: in process, and over a socket."""
    return BOTH[request.param](mockserver)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """pytest's own, whose runs print what they print on a terminal: with these variables it cuts no line of its summary."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    return pytester
