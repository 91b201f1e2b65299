"""Command line flags and ini options of the pytest plugin, as a table; all of them begin with `mockserver`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver.testing.settings import Layer, setting_error

if TYPE_CHECKING:
    import pytest


class Option(NamedTuple):
    """One setting: `--mockserver-NAME` and `mockserver_NAME`. `read` makes its value of the text that was written."""

    name: str
    read: Callable[[str], Any]
    metavar: str
    help: str


def _whole(written: str) -> int:
    from mockserver.contract.text import whole_number

    number = whole_number(written.strip())
    if number is None:
        raise ValueError(f"{written!r}; wanted a whole number")
    return number


def _follow(written: str) -> str:
    if written != "follow":
        raise ValueError(f"{written!r}; wanted 'follow'")
    return written


# fmt: off
OPTIONS = (
    #      name        read     metavar      help
    Option("scenario", str,     "NAME|FILE", "what is there at the start of each test"),
    Option("profile",  str,     "NAME|FILE", "literal, guide, hostile, or a file {choices: {id: option}}"),
    Option("seed",     _whole,  "NUMBER",    "ids, keys and tokens follow from it (default: 0)"),
    Option("now",      str,     "INSTANT",   "instant of each sandbox's clock (default: the present)"),
    Option("clock",    _follow, "follow",    "let each sandbox's clock go with the process's"),
)
RUN = (
    Option("url",      str,     "URL",       "run the suite against the mockserver that listens there"),
    Option("token",    str,     "TOKEN",     "what the control plane of that server demands"),
    Option("failures", str,     "FOLDER",    "where replay documents go, `off` for none (default: .mockserver/failures)"),
)
# fmt: on


def add(parser: pytest.Parser) -> None:
    """Declare them all."""
    group = parser.getgroup("mockserver", "mockserver")
    for option in (*OPTIONS, *RUN):
        group.addoption(f"--mockserver-{option.name}", metavar=option.metavar, help=option.help)
        parser.addini(f"mockserver_{option.name}", option.help)
    choices = "a choice, such as dual-status=guide"
    several = f"{choices}; may be repeated"
    group.addoption("--mockserver-choices", action="append", default=[], metavar="ID=OPTION", help=several)
    parser.addini("mockserver_choices", f"{choices}, one a line", type="linelist")
    strict = "check every answer against its schema"
    group.addoption("--mockserver-strict", action="store_true", default=None, help=strict)
    group.addoption("--mockserver-no-strict", dest="mockserver_strict", action="store_false", help="do not")
    parser.addini("mockserver_strict", strict, type="bool")


def layers(config: pytest.Config) -> Iterator[Layer]:
    """Return the settings of the ini file and of the command line; ValueError for an unknown or invalid one."""
    yield Layer("ini file", _said(lambda name: config.getini(f"mockserver_{name}"), "mockserver_{}"))
    yield Layer("command line", _said(lambda name: config.getoption(f"mockserver_{name}"), "--mockserver-{}"))


def run_option(config: pytest.Config, name: str) -> Any:
    """A setting of the whole run: the command line's, else the ini file's, else None."""
    given = config.getoption(f"mockserver_{name}")
    return given if given is not None else config.getini(f"mockserver_{name}") or None


def _said(written: Callable[[str], Any], form: str) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for option in OPTIONS:
        if written(option.name):
            said[option.name] = _read(form.format(option.name), option.read, written(option.name))
    if written("choices"):
        said["choices"] = dict(_choice(form.format("choices"), each) for each in _lines(written("choices")))
    for name, value in said.items():
        wrong = setting_error(name, value)
        if wrong:
            raise ValueError(f"{form.format(name)}: {wrong}")
    return said


def _lines(written: Sequence[str]) -> list[str]:
    return [each.strip() for each in written if each.strip()]


def _read(where: str, read: Callable[[str], Any], written: str) -> Any:
    try:
        return read(written)
    except ValueError as refusal:
        raise ValueError(f"{where}: {refusal}") from None


def _choice(where: str, written: str) -> tuple[str, Any]:
    choice, sign, option = written.partition("=")
    if not sign:
        raise ValueError(f"{where}: {written!r}; wanted ID=OPTION, such as dual-status=guide")
    from mockserver.contract.text import json_value

    value = json_value(option)
    return choice.strip(), value if isinstance(value, dict | int) and not isinstance(value, bool) else option.strip()
