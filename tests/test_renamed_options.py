"""Commands and options that have another name now: the former one works and warns, of an option not with another value."""

from __future__ import annotations

import argparse
import warnings

import pytest

from mockserver import cli
from mockserver._deprecated import DEPRECATED, FORMER_COMMANDS
from mockserver.cli import build_parser
from mockserver.testing.explore import ExploreOptions

OPTIONS = {name: row for name, row in DEPRECATED.items() if name.startswith("command ") and " --" in name}
ROWS = [(*name.removeprefix("command ").split(" "), row.use) for name, row in OPTIONS.items()]
FLAGS = ("--no-reason", "--split", "--merge")
WITH_VALUES = [row for row in ROWS if row[1] not in FLAGS]


def parse(command: str, *words: str) -> argparse.Namespace:
    needed = ("demo",) if command == "play" else ()
    return build_parser().parse_args([command, *needed, *words])


def attribute(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def test_each_hidden_option_is_deprecated() -> None:
    (commands,) = (each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction))
    hidden = {
        f"command {name} {action.option_strings[0]}"
        for name, parser in commands.choices.items()
        for action in parser._actions
        if action.help == argparse.SUPPRESS and action.option_strings
    }

    assert OPTIONS.keys() == hidden


@pytest.mark.parametrize(("command", "former", "use"), ROWS)
def test_a_former_option_sets_what_replaces_it_and_warns(
    command: str, former: str, use: str, capsys: pytest.CaptureFixture[str]
) -> None:
    value = () if former in FLAGS else ("7",)
    options = parse(command, former, *value)

    assert getattr(parse(command), attribute(use)) != getattr(options, attribute(use))
    assert getattr(parse(command, use, *value), attribute(use)) == getattr(options, attribute(use))
    assert f"mockserver: command {command} {former} is deprecated since 0.1; use {use}\n" == capsys.readouterr().err


@pytest.mark.parametrize(("command", "former", "use"), WITH_VALUES)
def test_an_option_and_its_former_one_with_another_value_are_refused(
    command: str, former: str, use: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ((former, "7", use, "8"), (use, "8", former, "7")):
        with pytest.raises(SystemExit) as end:
            parse(command, *words)

        assert 2 == end.value.code
        assert f"; expected {use} alone" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "former", "use"), ROWS)
def test_an_option_and_its_former_one_with_the_same_value_are_taken(command: str, former: str, use: str) -> None:
    value = () if former in FLAGS else ("7",)
    both = parse(command, former, *value, use, *value)

    assert getattr(parse(command, use, *value), attribute(use)) == getattr(both, attribute(use))


@pytest.mark.parametrize(("former", "use"), FORMER_COMMANDS.items())
def test_a_former_command_is_the_present_one_and_warns(
    former: str, use: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main([former, "--help"])
    printed = capsys.readouterr()

    assert 0 == end.value.code
    assert f"usage: mockserver {use} " in printed.out
    assert f"mockserver: command {former} is deprecated since 0.1; use mockserver {use}\n" == printed.err


def test_no_help_lists_a_former_command() -> None:
    (commands,) = (each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction))

    assert commands.choices.keys().isdisjoint(FORMER_COMMANDS)
    assert commands.choices.keys() >= {*FORMER_COMMANDS.values()}


class TestHeldOfExploreOptions:
    def test_it_is_the_response_delay_and_warns(self) -> None:
        with pytest.warns(DeprecationWarning, match="ExploreOptions.held is deprecated since 0.1; use") as caught:
            options = ExploreOptions(held=0.5)

        assert ExploreOptions(response_delay=0.5) == options
        assert [__file__] == [each.filename for each in caught]

    def test_another_response_delay_is_refused(self) -> None:
        with pytest.raises(ValueError, match="got response_delay=2 and held=3; expected response_delay alone"):
            ExploreOptions(response_delay=2, held=3)

    def test_the_present_name_does_not_warn(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ExploreOptions(response_delay=0.5)
