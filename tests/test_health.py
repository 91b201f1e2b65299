"""`mockserver health`: it reads the settings of `serve`, and its exit status is the health of that server."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from mockserver import MockServer
from mockserver.cli import build_parser
from mockserver.cli.health import check
from mockserver.version import VERSION


@pytest.fixture
def running() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


def health(*arguments: str, **environ: str) -> tuple[int, str]:
    out = io.StringIO()
    options = build_parser().parse_args(["health", *arguments])
    code = check(options, out, {f"MOCKSERVER_{name}": value for name, value in environ.items()})
    return code, out.getvalue()


def port(server: MockServer) -> str:
    return server.url.rpartition(":")[2]


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_a_running_server_is_healthy_at_the_address_of_its_settings(running: MockServer, host: str) -> None:
    assert (0, f"ok {VERSION}\n") == health(HOST=host, PORT=port(running))
    assert (0, f"ok {VERSION}\n") == health("--host", host, "--port", port(running), PORT="1")


def test_no_server_is_unhealthy(capsys: pytest.CaptureFixture[str]) -> None:
    assert (1, "") == health("--port", "9")
    assert capsys.readouterr().err.startswith("mockserver: no server answers at 127.0.0.1 port 9: ")


def test_a_server_with_a_token_is_healthy_for_those_who_have_it_and_if_it_has_generated_one(
    running: MockServer, capsys: pytest.CaptureFixture[str]
) -> None:
    running._host.token = "let-me-in"

    assert (0, f"ok {VERSION}\n") == health("--port", port(running), TOKEN="let-me-in")
    assert (0, "ok\n") == health("--port", port(running))
    assert (1, "") == health("--port", port(running), TOKEN="another-one")
    assert "got status 401" in capsys.readouterr().err
