"""The settings of a suite that the ini file and pytest's command line have: declared, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from mockserver._files import write_whole
from mockserver._settings import READS_MAX, SUITE, Setting, set_in
from mockserver.testing.settings import Layer, reads_limit

if TYPE_CHECKING:
    import pytest


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


# How the text of the ini file or of the command line is read, by the type of the setting.
_READERS: Final[Mapping[str, Callable[[str], Any]]] = MappingProxyType(
    {
        "scenario": str,
        "profile": str,
        "instant": str,
        "text": str,
        "seed": _whole,
        "clock": _follow,
        "url": _url,
        "labels": _labels,
        "reads": _reads,
    }
)
_OF_INI_FILE: Final = {f"mockserver_{setting.attribute}": setting for setting in set_in("ini file")}
_OF_SANDBOX: Final = set_in("command line", "fixture", "mark")
COVERAGE_PLUGIN = "mockserver-coverage"


def add(parser: pytest.Parser) -> None:
    """Declare all options."""
    group = parser.getgroup("mockserver", "mockserver")
    for setting in SUITE:
        if "command line" in setting.places:
            group.addoption(f"--mockserver-{setting.name}", help=setting.help, **_form(setting))
        if "ini file" in setting.places:
            _add_ini(parser, setting)


def _form(setting: Setting) -> dict[str, Any]:
    """Return how an option is parsed."""
    if setting.form == "flag":
        return {"action": "store_true", "default": None}
    if setting.form == "many":
        return {"action": "append", "default": [], "metavar": setting.metavar}
    return {"metavar": setting.metavar} | ({"type": Path} if setting.type == "path" else {})


def _add_ini(parser: pytest.Parser, setting: Setting) -> None:
    name = f"mockserver_{setting.attribute}"
    if setting.form == "flag":
        parser.addini(name, setting.help, type="bool", default=setting.default == "true")
    elif setting.form == "many":
        parser.addini(name, f"{setting.words}, one per line", type="linelist")
    elif "command line" in setting.places:
        parser.addini(name, setting.help)  # without a default, which would hide that the ini file has no such setting
    else:
        parser.addini(name, setting.help, default=setting.default)


def layers(config: pytest.Config) -> Iterator[Layer]:
    """Return the settings of the ini file and of the command line; ValueError for an unknown or invalid one."""
    yield Layer("ini file", _values(lambda name: config.getini(f"mockserver_{name}"), "mockserver_{}"))
    yield Layer("command line", _values(lambda name: config.getoption(f"mockserver_{name}"), "--mockserver-{}"))


def check_flags(config: pytest.Config) -> None:
    """Raise ValueError for a flag of the ini file that is neither true nor false."""
    import pytest

    for name, setting in _OF_INI_FILE.items():
        if setting.form == "flag":
            try:
                config.getini(name)
            except (pytest.UsageError, TypeError, ValueError) as failure:
                got = str(failure).rpartition("truth value ")[2]
                raise ValueError(f"{name} (ini file): got {got}; expected true or false") from None


def covers(config: pytest.Config) -> bool:
    """Return True if the session's coverage is asked for, by the option, the ini file or another option of it."""
    asked = (config.getoption(f"mockserver_{name}") for name in ("cov_file", "cov_fail_under"))
    return bool(config.getoption("mockserver_cov") or config.getini("mockserver_cov") or any(asked))


def run_option(config: pytest.Config, name: str) -> Any:
    """Return an option of the whole run: from the command line, else from the ini file, else None."""
    setting = f"mockserver_{name.replace('-', '_')}"
    text = config.getoption(setting)
    if text is None:
        text = config.getini(setting)
    return _read(f"--mockserver-{name}", _OF_INI_FILE[setting], text) if text else None


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


def poll_limit(config: pytest.Config) -> int | None:
    """Return the number of equal reads in a row that ends a test, None for no limit; ValueError for any other value."""
    value = run_option(config, "poll-limit")
    try:
        return reads_limit(READS_MAX if value is None else value)
    except ValueError as refusal:
        raise ValueError(f"mockserver_poll_limit: {refusal}") from None


def conduct_mode(config: pytest.Config) -> str:
    """Return the effect of findings on conduct where no mark sets it; ValueError for any text that is no option."""
    return str(_read("mockserver_conduct", _OF_INI_FILE["mockserver_conduct"], config.getini("mockserver_conduct")))


def _values(text_of: Callable[[str], Any], form: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for setting in _OF_SANDBOX:
        where, text = form.format(setting.name), text_of(setting.name)
        if text and setting.form == "many":
            lines = (line.strip() for line in text)
            values[setting.name] = dict(_choice(where, line) for line in lines if line)
        elif text:
            values[setting.name] = _read(where, setting, text)
    if not values:
        return values
    from mockserver.testing.setting_checks import setting_error

    for name, value in values.items():
        error = setting_error(name, value)
        if error:
            raise ValueError(f"{form.format(name)}: {error}")
    return values


def _read(where: str, setting: Setting, text: str) -> Any:
    try:
        return setting.option(text) if setting.options else _READERS[setting.type](text)
    except ValueError as refusal:
        raise ValueError(f"{where}: {refusal}") from None


def _choice(where: str, text: str) -> tuple[str, Any]:
    choice, sign, option = text.partition("=")
    if not sign:
        raise ValueError(f"{where}: got {text!r}; expected ID=OPTION, such as dual-status=guide")
    from mockserver.contract.text import json_value

    value = json_value(option)
    return choice.strip(), value if isinstance(value, dict | int) and not isinstance(value, bool) else option.strip()
