"""The subcommand: what it prints and saves, what it never shows, and over a real socket."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest

from mockserver import MockServer, Sandbox, cli
from mockserver._json import JSON
from mockserver.judge.choices.learning import profile
from mockserver.probe.transport import HttpClient
from mockserver.scenario.documents import read_file
from tests.probe.test_learning import GUIDE
from tests.probe.test_violations import ModifiedService, Sent
from tests.probe.worlds import IDS, OTHER_TENANT, connected, run, settings, world


@pytest.fixture(autouse=True)
def no_key_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOCKSERVER_KEY", raising=False)


def _arguments(sandbox: Sandbox, *more: str) -> list[str]:
    ids = {**IDS, "entrypoint": connected(sandbox)}
    given = [word for name, id in ids.items() for word in (f"--{name}", id)]
    options = ("--key", "--public-key", "--other-key")
    keys = [word for pair in zip(options, _keys(sandbox), strict=True) for word in pair]
    # A rate that a test can wait for; the wall's clock is the command's own.
    return ["probe", sandbox.base_url, *keys, *given, "--rate", "1000", *more]


def _keys(sandbox: Sandbox) -> list[str]:
    return [sandbox.secret_key, sandbox.public_key, sandbox.admin.keys(OTHER_TENANT)[0]]


@pytest.mark.parametrize("chosen", [GUIDE, {"next-cursor-end": "null", "error-extra-keys": "details"}])
def test_the_profile_that_is_saved_makes_the_mock_behave_so(
    mockserver_server: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], chosen: JSON
) -> None:
    file = tmp_path / "profile.yaml"
    with world(mockserver_server, chosen) as sandbox:
        leave = ("--allow-writes", "--allow-sends")
        code = cli.main(_arguments(sandbox, *leave, "--profile-out", str(file)))
        keys = _keys(sandbox)
    printed = capsys.readouterr().out
    saved = dict(read_file(file)["choices"])
    with mockserver_server.sandbox("demo", choices=saved) as learnt:
        held = {
            row["id"]: row["value"]
            for row in learnt.admin.app.test_client().get("/_mock/choices").get_json()["choices"]
        }

    assert 0 == code
    assert chosen == {id: saved[id] for id in chosen}
    assert saved == {id: held[id] for id in saved}
    assert "0 broken" in printed
    assert [] == [key for key in keys for text in (printed, file.read_text(encoding="utf-8")) if key in text]


def test_the_json_contains_every_clause_and_choice(sandbox: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(_arguments(sandbox, "--json"))
    keys = _keys(sandbox)

    printed = capsys.readouterr().out
    report = json.loads(printed)
    assert 0 == code
    assert {"holds", "not observed"} == {row["verdict"] for row in report["service"]["clauses"]}
    assert {"settled", "set", "not-shown"} == {row["state"] for row in report["choices"]}
    assert "it needs --allow-writes" == report["incomplete"]["drafts"]
    assert (None, [], 0) == (report["stopped"], report["notCleanedUp"], report["sessionsLeftToExpire"])
    assert "client" not in report
    assert [] == [key for key in keys if key in printed]


def test_a_service_that_echoes_keys_and_links_does_not_bring_them_into_the_report(
    sandbox: Sandbox,
) -> None:
    keys = _keys(sandbox)
    echo = f"sua chave {' '.join(keys)}"
    links: list[str] = []

    def respond(sent: Sent, status: int, value: JSON | None) -> tuple[int, JSON] | None:
        if isinstance(value, dict) and "url" in value:
            links.append(value["url"])
            return status, value | {"sessionId": value["url"]}
        return (status, {**(value or {}), "message": echo, "stack": echo}) if status >= 400 else None

    bent = ModifiedService(sandbox, respond=respond)
    probed = run(sandbox, bent)
    given = settings(sandbox)
    shown = [*probed.printed, profile(probed.report.choices, ()), repr(given), repr(probed)]

    assert [] == [key for key in keys for place in shown if key in place]
    assert links
    assert [] == [link for link in links for place in shown if link in place]


def test_the_key_may_be_read_from_the_environment(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOCKSERVER_KEY", sandbox.secret_key)
    code = cli.main(["probe", sandbox.base_url, "--rate", "1000"])

    assert 0 == code
    assert "0 broken" in capsys.readouterr().out


def test_a_port_that_is_no_number_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="whose port is not a number from 0 to 65535"):
        HttpClient("http://service.example:99999")


def test_the_report_has_what_was_called_the_service_the_choices_and_what_was_not_probed(
    sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["probe", sandbox.base_url, "--key", sandbox.secret_key, "--rate", "1000"])
    printed = capsys.readouterr().out.splitlines()
    heads = [line.partition(": ")[0] for line in printed if line[0] != " "]

    assert printed[0].startswith(f"{sandbox.base_url}: ")
    assert ["service", "choices"] == heads[1:3]
    assert {"not probed"} == {*heads[4:]}
    assert any(line.endswith("(it needs --public-key)") for line in printed)


def test_a_run_that_ends_early_is_not_a_success(mockserver: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    mockserver.on("*").skip(1).times(1000).drop("before")
    code = cli.main(["probe", mockserver.base_url, "--key", mockserver.secret_key, "--rate", "1000"])

    assert 2 == code
    assert "The run ended early: GET /v1/message-templates/" in capsys.readouterr().out


def test_the_exit_status_is_1_if_the_service_broke_a_sentence(
    mockserver: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    mockserver.on("listCampaigns").skip(1).reply(status=200, body={"campaigns": 1})

    assert 1 == cli.main(["probe", mockserver.base_url, "--key", mockserver.secret_key, "--rate", "1000"])
    assert "campaigns.list" in capsys.readouterr().out


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_dead_port_is_one_line_and_an_exit_status(capsys: pytest.CaptureFixture[str], form: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    assert 2 == cli.main(["probe", url, "--key", "sk_0123456789", *form])
    out, err = capsys.readouterr()
    assert "" == out
    assert re.fullmatch(rf"mockserver: got no response \(.+\) from {url}; start the service, or correct the url\n", err)


def test_a_key_that_the_service_refuses_is_one_line_and_an_exit_status(
    mockserver: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == cli.main(["probe", mockserver.base_url, "--key", "sk_0123456789"])
    message = (
        "mockserver: got 401 API_KEY_INVALID for GET /v1/campaigns with this key; "
        "expected a secret key of a tenant with access\n"
    )
    assert ("", message) == capsys.readouterr()
