"""Command line flags and ini options of the pytest plugin, as a table; all of them begin with `mockserver`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver._files import write_whole
from mockserver.testing.settings import READS_MAX, Layer

if TYPE_CHECKING:
    import pytest


class Option(NamedTuple):
    """
    One setting: `--mockserver-NAME` and `mockserver_NAME`.

    Attributes:
        read: returns the value of its text.
    """

    name: str
    read: Callable[[str], Any]
    metavar: str
    help: str


def write_result(config: pytest.Config, file: Path, text: str) -> bool:
    """
    Write a result of the session, which its end prints too; return True unless that fails.

    A failure is one line, and changes neither a test's result nor the exit status.
    """
    try:
        write_whole(file, text)
    except OSError as problem:
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"mockserver: {file} was not written: {problem.strerror}", yellow=True)
        return False
    return True


def _whole(text: str) -> int:
    from mockserver.contract.text import whole_number

    number = whole_number(text.strip())
    if number is None:
        raise ValueError(f"got {text!r}; expected a whole number")
    return number


def _url(text: str) -> str:
    if not text.lower().startswith(("http://", "https://")):
        from mockserver.contract.text import did_you_mean

        hint = did_you_mean(None if "://" in text else f"http://{text}")
        raise ValueError(f"got {text!r}; expected the address of a running server, such as http://127.0.0.1:5055{hint}")
    return text


def _follow(text: str) -> str:
    if text != "follow":
        raise ValueError(f"got {text!r}; expected 'follow'")
    return text


def _labels(text: str) -> dict[str, str]:
    labels = {}
    for label in text.split(","):
        key, colon, value = label.strip().partition(":")
        if not (key and colon and value):
            raise ValueError(f"got {label!r}; expected KEY:VALUE, such as job:4711")
        labels[key] = value
    return labels


def _reads(text: str) -> int | str:
    from mockserver.contract.text import whole_number

    number = whole_number(text.strip())
    return text.strip() if number is None else number


# fmt: off
OPTIONS = (
    #      name        read     metavar      help
    Option("scenario", str,     "NAME|FILE", "initial state of each sandbox"),
    Option("profile",  str,     "NAME|FILE", "set of choices: literal (every default), guide, hostile, or a file {choices: {id: option}}"),
    Option("seed",     _whole,  "NUMBER",    "ids, keys and tokens follow from it (default: 0)"),
    Option("now",      str,     "INSTANT",   "instant of each sandbox's clock (default: the present)"),
    Option("clock",    _follow, "follow",    "let each sandbox's clock follow the process's"),
)
RUN = (
    Option("url",      _url,    "URL",       "run the suite against the server at this address"),
    Option("token",    str,     "TOKEN",     "token for the control plane of that server"),
    Option("sandbox-labels", _labels, "KEY:VALUE", "labels of the suite's sandboxes on that server, separated by commas"),
    Option("receiver-host", str, "HOST",     "name by which that server reaches this machine, for receivers in this process"),
    Option("failures-dir", str, "FOLDER",    "folder for replay documents, `off` for none (default: .mockserver/failures)"),
    Option("poll-limit", _reads, "NUMBER|off", "equal reads of one record in a row that end a test (default: 1000)"),
    Option("trace",    str,     "WHEN",      "write an HTML trace of a test: off, on-failure, always (default: off)"),
)
COVERAGE = (
    Option("cov-file",       str, "FILE", "file that the coverage is written to (default: .mockserver/coverage.json)"),
    Option("cov-fail-under", str, "PERCENT", "fail below this coverage: 80, operations=100,answers=80, or both"),
)
# fmt: on
_FLAGS = ("mockserver_cov", "mockserver_must_fire", "mockserver_strict")  # those of the ini file
TRACE_MODES = ("off", "on-failure", "always")


COVERAGE_PLUGIN = "mockserver-coverage"


def add(parser: pytest.Parser) -> None:
    """Declare all options."""
    group = parser.getgroup("mockserver", "mockserver")
    for option in (*OPTIONS, *RUN, *COVERAGE):
        group.addoption(f"--mockserver-{option.name}", metavar=option.metavar, help=option.help)
        parser.addini(f"mockserver_{_attribute(option)}", option.help)
    coverage = "gather what the calls have covered of the contract"
    group.addoption("--mockserver-cov", action="store_true", help=coverage)
    parser.addini("mockserver_cov", coverage, type="bool")
    group.addoption(
        "--mockserver-cov-append", action="store_true", help="add to what the file has, instead of replacing it"
    )
    choices = "a choice, such as dual-status=guide"
    several = f"{choices}; may be repeated"
    group.addoption("--mockserver-choices", action="append", default=[], metavar="ID=OPTION", help=several)
    parser.addini("mockserver_choices", f"{choices}, one per line", type="linelist")
    must_fire = (
        "fail a test for a rule with a bounded count that its function makes and that never fires (default: true)"
    )
    parser.addini("mockserver_must_fire", must_fire, type="bool", default=True)
    strict = "check every response against its schema"
    group.addoption("--mockserver-strict", action="store_true", default=None, help=strict)
    group.addoption("--mockserver-no-strict", dest="mockserver_strict", action="store_false", help="do not")
    parser.addini("mockserver_strict", strict, type="bool")


def layers(config: pytest.Config) -> Iterator[Layer]:
    """Return the settings of the ini file and of the command line; ValueError for an unknown or invalid one."""
    yield Layer("ini file", _values(lambda name: config.getini(f"mockserver_{name}"), "mockserver_{}"))
    yield Layer("command line", _values(lambda name: config.getoption(f"mockserver_{name}"), "--mockserver-{}"))


def check_ini_file(config: pytest.Config) -> None:
    """Raise ValueError for a setting of the ini file that does not exist, and for a flag that is neither true nor false."""
    import pytest

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest 9.2 deprecates it, without another way to find a misspelt name
        names = list(getattr(config, "inicfg", ()))
    for name in names:
        if name not in _FLAGS and name.startswith("mockserver_"):
            try:
                config.getini(name)
            except ValueError as failure:
                if "unknown configuration value" not in str(failure):
                    continue  # a setting of another plugin
                from mockserver.contract.text import closest_match_hint

                options = (*OPTIONS, *RUN, *COVERAGE)
                known = [
                    *_FLAGS,
                    "mockserver_choices",
                    "mockserver_conduct",
                    *(f"mockserver_{_attribute(each)}" for each in options),
                ]
                hint = closest_match_hint(name, known) or f": {', '.join(known)}"
                raise ValueError(f"ini file: got {name}; expected a setting of mockserver{hint}") from None
    for name in _FLAGS:
        try:
            config.getini(name)
        except (pytest.UsageError, TypeError, ValueError) as failure:
            got = str(failure).rpartition("truth value ")[2]
            raise ValueError(f"{name} (ini file): got {got}; expected true or false") from None


def covers(config: pytest.Config) -> bool:
    """Return True if the session's coverage is asked for, by the option, the ini file or another option of it."""
    asked = (config.getoption(f"mockserver_{_attribute(option)}") for option in COVERAGE)
    return bool(config.getoption("mockserver_cov") or config.getini("mockserver_cov") or any(asked))


def run_option(config: pytest.Config, name: str) -> Any:
    """Return an option of the whole run: from the command line, else from the ini file, else None."""
    option = next(option for option in (*RUN, *COVERAGE) if option.name == name)
    setting = f"mockserver_{_attribute(option)}"
    text = config.getoption(setting)
    if text is None:
        text = config.getini(setting)
    return _read(f"--mockserver-{name}", option.read, text) if text else None


def mark_arguments(item: pytest.Item, mark: str, names: Collection[str]) -> dict[str, Any]:
    """
    Return the arguments of a test's marks of one name, of which the nearest take precedence.

    Args:
        item: The test.
        mark: The name of the marks.
        names: Of their arguments.

    Raises:
        ValueError: An argument has no name, or an unknown one.
    """
    arguments: dict[str, Any] = {}
    for each in reversed(list(item.iter_markers(mark))):
        if each.args:
            raise ValueError(f"got {each.args!r}; expected keyword arguments only")
        arguments |= each.kwargs
    unknown = next((name for name in arguments if name not in names), None)
    if unknown is not None:
        from mockserver.contract.text import closest_match_hint

        raise ValueError(f"got {unknown!r}; expected {', '.join(names)}{closest_match_hint(unknown, names)}")
    return arguments


def reads_limit(config: pytest.Config) -> int | None:
    """Return the number of equal reads in a row that ends a test, None for no limit; ValueError for any other value."""
    value = run_option(config, "poll-limit")
    if value is None:
        return READS_MAX
    from mockserver.testing.setting_checks import checked_reads_limit

    try:
        return checked_reads_limit(value)
    except ValueError as refusal:
        raise ValueError(f"mockserver_poll_limit: {refusal}") from None


def _attribute(option: Option) -> str:
    return option.name.replace("-", "_")


def trace_mode(config: pytest.Config) -> str:
    """Return when a trace of a test is written: off, on-failure or always; ValueError for any other text."""
    mode = run_option(config, "trace") or TRACE_MODES[0]
    if mode not in TRACE_MODES:
        from mockserver.contract.text import closest_match_hint

        hint = closest_match_hint(mode, TRACE_MODES)
        raise ValueError(f"--mockserver-trace: got {mode!r}; expected {', '.join(TRACE_MODES)}{hint}")
    return str(mode)


def _values(text_of: Callable[[str], Any], form: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if text_of(option.name):
            values[option.name] = _read(form.format(option.name), option.read, text_of(option.name))
    if text_of("choices"):
        lines = (line.strip() for line in text_of("choices"))
        values["choices"] = dict(_choice(form.format("choices"), line) for line in lines if line)
    if not values:
        return values
    from mockserver.testing.setting_checks import setting_error

    for name, value in values.items():
        error = setting_error(name, value)
        if error:
            raise ValueError(f"{form.format(name)}: {error}")
    return values


def _read(where: str, read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except ValueError as refusal:
        raise ValueError(f"{where}: {refusal}") from None


def _choice(where: str, text: str) -> tuple[str, Any]:
    choice, sign, option = text.partition("=")
    if not sign:
        raise ValueError(f"{where}: got {text!r}; expected ID=OPTION, such as dual-status=guide")
    from mockserver.contract.text import json_value

    value = json_value(option)
    return choice.strip(), value if isinstance(value, dict | int) and not isinstance(value, bool) else option.strip()
