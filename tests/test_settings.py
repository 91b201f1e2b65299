"""The settings of a server: by option, by environment variable, by default."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from mockserver._settings import SERVER
from mockserver.cli import build_parser
from mockserver.cli.serve import _connection_limits, _create_host, _limits
from mockserver.cli.settings import default_of, resolve, token_of
from mockserver.core.instants import SECOND
from mockserver.server.hosting.limits import BEYOND_LOOPBACK, ServerLimits
from mockserver.server.hosting.shard import Shard
from mockserver.server.http1.connection import ConnectionLimits

VALUES = {
    "max-sandboxes": ("50", 50),
    "idle": ("1h30m", 5_400 * SECOND),
    "age": ("20m", 1_200 * SECOND),
    "memory": ("512MB", 512_000_000),
    "head-timeout": ("2s", 2 * SECOND),
    "min-body-rate": ("1000", 1_000),
    "max-connections": ("100", 100),
    "max-bodies": ("2GB", 2 * 10**9),
    "drain": ("10m", 600 * SECOND),
    "shard": ("1/2", Shard(1, 2)),
    "port": ("0", 0),
    "seed": ("7", 7),
    "journal-max-entries": ("3", 3),
    "journal-max-bytes": ("4", 4),
    "log-format": ("json", "json"),
    "public-url": ("https://mock.example/crm/", "https://mock.example/crm"),
    "scenario": ("demo", "demo"),
}


def parsed(*arguments: str, **environ: str) -> argparse.Namespace:
    options = build_parser().parse_args(["serve", *arguments])
    resolve(options, *SERVER, environ={f"MOCKSERVER_{name}": value for name, value in environ.items()})
    return options


@pytest.mark.parametrize("setting", SERVER, ids=lambda setting: setting.name)
def test_a_variable_sets_what_its_option_sets(setting: Any) -> None:
    variable = setting.variable.removeprefix("MOCKSERVER_")
    expected: object
    if setting.form == "flag":
        by_option, by_variable, expected = parsed(f"--{setting.name}"), parsed(**{variable: "true"}), True
    else:
        text, value = VALUES.get(setting.name, ("some-text", "some-text"))
        expected = [value] if setting.form == "many" else value
        by_option, by_variable = parsed(f"--{setting.name}", text), parsed(**{variable: text})

    assert expected == getattr(by_option, setting.attribute) == getattr(by_variable, setting.attribute)
    assert default_of(setting) == getattr(parsed(), setting.attribute)


def test_each_start_of_a_shard_has_ids_of_its_own() -> None:
    former, present = (_create_host(parsed("--shard", "1/2", "--seed", "7")) for _ in range(2))

    assert former.shard is not None
    assert present.shard is not None
    assert (1, 2) == present.shard[:2]
    assert former.shard.sandbox_id(1, seed=7) != present.shard.sandbox_id(1, seed=7)


def test_an_option_takes_precedence_over_its_variable() -> None:
    assert 1 == parsed("--port", "1", PORT="2").port
    assert ["a"] == parsed("--allow-webhook-host", "a", ALLOW_WEBHOOK_HOST="b").allow_webhook_host


@pytest.mark.parametrize("text", ["a=1;b=2", "a=1; b=2;", "a=1\nb=2\n"])
def test_several_values_of_a_variable_are_separated_by_semicolons_or_lines(text: str) -> None:
    assert ["a=1", "b=2"] == parsed(CHOOSE=text).choose


@pytest.mark.parametrize(("text", "value"), [("1", True), ("YES", True), ("0", False), ("", False), ("off", False)])
def test_a_flag_can_be_off_in_a_variable(text: str, value: bool) -> None:
    assert value is parsed(STRICT=text).strict


def test_variables_of_a_service_named_mockserver_are_not_settings() -> None:
    assert 5055 == parsed(SERVICE_PORT="5056", PORT="tcp://10.0.0.1:5057", PORT_5055_TCP="tcp://10.0.0.1:5058").port


@pytest.mark.parametrize(
    ("text", "size"), [("2GB", 2 * 10**9), ("1GiB", 2**30), ("1.5MB", 1_500_000), ("6400k", 6_400_000)]
)
def test_sizes_have_units(text: str, size: int) -> None:
    assert size == parsed(MAX_BODIES=text).max_bodies


class TestLimits:
    def test_they_are_off_on_loopback_and_on_beyond_it(self) -> None:
        assert ServerLimits() == _limits(parsed())
        assert BEYOND_LOOPBACK == _limits(parsed("--host", "0.0.0.0"))
        assert ServerLimits(10_000, 1_800 * SECOND, 21_600 * SECOND, 2 * 10**9) == BEYOND_LOOPBACK

    def test_each_can_be_set_and_switched_off(self) -> None:
        options = ("--max-sandboxes", "5", "--idle", "off", "--age", "1h", "--memory", "off")

        assert ServerLimits(5, None, 3_600 * SECOND, None) == _limits(parsed("--host", "0.0.0.0", *options))
        assert ServerLimits(5, None, 3_600 * SECOND, None) == _limits(parsed(*options))


class TestConnectionLimits:
    def test_they_are_on_everywhere(self) -> None:
        assert ConnectionLimits() == _connection_limits(parsed()) == _connection_limits(parsed("--host", "0.0.0.0"))

    def test_each_can_be_set_and_switched_off(self) -> None:
        options = ("--head-timeout", "2500ms", "--min-body-rate", "1", "--max-connections", "5", "--max-bodies", "2MB")
        names = ("HEAD_TIMEOUT", "MIN_BODY_RATE", "MAX_CONNECTIONS", "MAX_BODIES")

        assert ConnectionLimits(2.5, 1, 5, 2_000_000) == _connection_limits(parsed(*options))
        assert ConnectionLimits(None, None, None, None) == _connection_limits(parsed(**dict.fromkeys(names, "off")))


@pytest.mark.parametrize("text", ["\n", "two words of it", "é-let-me-in", "let-me-in\x7f"])
def test_a_file_without_a_token_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=f"got --token-file .* of {len(text.strip())} characters; expected one word"):
        token_of(parsed("--token-file", str(file)))


@pytest.mark.parametrize(
    ("text", "name"),
    [("Hooks.Example", "hooks.example"), ("[::1]", "::1"), ("10.0.0.7", "10.0.0.7"), ("my_host", "my_host")],
)
def test_a_host_is_a_name_or_an_address(text: str, name: str) -> None:
    assert [name] == parsed(ALLOW_WEBHOOK_HOST=text).allow_webhook_host
