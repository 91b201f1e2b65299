"""
The settings of a server: by options of the command line, else by environment variables `MOCKSERVER_...`, else by default.

An environment variable of that prefix that no setting has is refused with the nearest name, except those that other
commands read and those that containers get for a service named `mockserver`. A server that ends with the program that
started it has the environment of that program, which may use the prefix for settings of its own: none is refused then.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from mockserver.contract.durations import parse_duration
from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES
from mockserver.contract.text import closest_match, closest_match_hint, did_you_mean, whole_number
from mockserver.core.instants import SECOND
from mockserver.core.webhooks.url_policy import host_name
from mockserver.server.hosting.shard import read_shard

PREFIX: Final = "MOCKSERVER_"
DEFAULT_PORT: Final = 5055
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
OFF: Final = 0  # of a limit
# Of `mockserver probe`, and of clients.
_OF_OTHERS: Final = (
    "MOCKSERVER_KEY",
    "MOCKSERVER_PUBLIC_KEY",
    "MOCKSERVER_RECEIVER_HOST",
    "MOCKSERVER_SERVER",
    "MOCKSERVER_URL",
)
# What Kubernetes sets for a service named `mockserver`, and Docker for a link of that name.
_SERVICE_LINK: Final = re.compile(r"MOCKSERVER_(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP)(_\w+)?|NAME|ENV_\w+)")
_LINKED_PORT: Final = re.compile(r"(tcp|udp)://")
_SIZE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kMGT]i?)?B?", re.ASCII)
_FACTORS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TOKEN_CHARS_MIN = 8
_SIZE_MIN: Final = 10**6  # the memory of a few sandboxes without data, or one small upload
_BINARY_FACTORS: Final = {"ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


class Setting(NamedTuple):
    """
    One setting, `--NAME` and `MOCKSERVER_NAME`.

    Attributes:
        name: of the option, without its dashes.
        read: returns the value of a text, or raises ValueError with what is expected.
        default: None for one that follows from other settings, or is absent.
        help: of the option.
        metavar: of the option; None for one that needs none.
        form: `one` value, a `flag`, or `many` values, which a variable separates by `;` or line ends.
    """

    name: str
    read: Callable[[str], Any]
    default: Any
    help: str
    metavar: str | None = None
    form: str = "one"

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper().replace("-", "_")

    @property
    def attribute(self) -> str:
        """The name in the parsed options."""
        return self.name.replace("-", "_")


def _whole(text: str) -> int:
    digits = text.strip()
    number = whole_number(digits.removeprefix("-"))
    if number is None:
        raise ValueError("expected a whole number" + " of at most 15 digits" * (len(digits) > 15))
    return -number if digits.startswith("-") else number


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("", "0", "false", "no", "off"):
        return False
    raise ValueError("expected true or false")


def _limit(read: Callable[[str], int | None], expected: str) -> Callable[[str], int]:
    def read_limit(text: str) -> int:
        value = OFF if text == "off" else read(text)
        if value is None or (value == OFF and text != "off"):
            raise ValueError(f"expected {expected}, or off")
        return value

    return read_limit


def _large_size(text: str) -> int | None:
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    size = round(float(match[1]) * {**_FACTORS, **_BINARY_FACTORS}[match[2] or ""])
    return size if size >= _SIZE_MIN else None


def _some_text(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a text that is not empty, or no such setting")
    return text


def _log_format(text: str) -> str:
    if text not in ("text", "json", "off"):
        raise ValueError(f"expected text, json or off{closest_match_hint(text, ('text', 'json', 'off'))}")
    return text


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    is_printable = text.isascii() and text.isprintable()  # as the URIs in answers are
    if not is_url or not is_printable or not re.fullmatch(r"https?://[^/\s?#@]+(/[^\s?#]*)?", text):
        raise ValueError("expected an http or https url in ASCII without a query, such as https://mock.example")
    return text.rstrip("/")


# fmt: off
SETTINGS: Final[tuple[Setting, ...]] = (
    Setting("host", _some_text, "127.0.0.1", "address to listen on; one beyond loopback requires a token (default: 127.0.0.1)"),
    Setting("port", _whole, DEFAULT_PORT, f"port to listen on, 0 for a free one (default: {DEFAULT_PORT})"),
    Setting(name="public-url", read=_url, default=None, help="address by which clients reach the server through a proxy; answers to them contain it", metavar="URL"),
    Setting(name="allow-host", read=host_name, default=[], help="another name by which clients may address a server on loopback; may be repeated", metavar="NAME", form="many"),
    Setting(name="choose", read=str, default=[], help="select the option of a choice; may be repeated", metavar="ID=OPTION", form="many"),
    Setting(name="profile", read=str, default=None, help="select options by a profile: literal (every default), guide, hostile, or a file with `choices`", metavar="NAME|FILE"),
    Setting(name="freeze", read=str, default=None, help="freeze the clock at this instant, such as 2026-03-01T12:00:00Z (default: it follows the computer's)", metavar="INSTANT"),
    Setting("seed", _whole, None, "seed of ids, keys and tokens (default: 0; random beyond loopback)"),
    Setting("token", str, None, "token that the control plane requires (default: none; generated beyond loopback)"),
    Setting(name="token-file", read=_some_text, default=None, help="file that contains the token", metavar="FILE"),
    Setting(name="max-sandboxes", read=_limit(whole_number, "a whole number from 1"), default=None,
            help="maximum of open sandboxes that clients create (default: off; 10000 beyond loopback)", metavar="COUNT"),
    Setting(name="idle", read=_limit(parse_duration, "a duration such as 30m"), default=None,
            help="end a sandbox that has no call for this real time (default: off; 30m beyond loopback)", metavar="DURATION"),
    Setting(name="age", read=_limit(parse_duration, "a duration such as 6h"), default=None,
            help="end a sandbox this real time after its creation (default: off; 6h beyond loopback)", metavar="DURATION"),
    Setting(name="memory", read=_limit(_large_size, "a size of at least 1MB such as 2GB, 512MB or 1GiB"), default=None,
            help="maximum of the estimated memory of all sandboxes (default: off; 2GB beyond loopback)", metavar="SIZE"),
    Setting(name="head-timeout", read=_limit(parse_duration, "a duration such as 10s"), default=10 * SECOND,
            help="refuse a request whose head is not whole after this real time (default: 10s)", metavar="DURATION"),
    Setting(name="min-body-rate", read=_limit(whole_number, "a whole number of bytes from 1"), default=256,
            help="refuse a body of which fewer bytes arrive each second, on average over 30 s (default: 256)", metavar="BYTES"),
    Setting(name="max-connections", read=_limit(whole_number, "a whole number from 1"), default=16_384,
            help="maximum of open connections, fewer if the process has few descriptors (default: 16384)", metavar="COUNT"),
    Setting(name="max-bodies", read=_limit(_large_size, "a size of at least 1MB such as 1GB, 512MB or 1GiB"), default=1_000_000_000,
            help="maximum of the bodies of more than 64 KiB that are not answered yet (default: 1GB)", metavar="SIZE"),
    Setting("behind-proxy", _flag, False,
            "serve other machines through a proxy: token, limits and random seeds as beyond loopback", form="flag"),
    Setting(name="drain", read=_limit(parse_duration, "a duration such as 10m"), default=None,
            help="at SIGTERM wait at most this long for the end of the sandboxes, and create none (default: off)", metavar="DURATION"),
    Setting(name="shard", read=read_shard, default=None, help="which of several servers behind a proxy this one is, as NUMBER/COUNT, such as 0/2 (default: none)", metavar="SHARD"),
    Setting("strict", _flag, False, "check every response against its schema", form="flag"),
    Setting("no-reason-header", _flag, False, "omit the response header X-Mock-Reason", form="flag"),
    Setting(name="allow-webhook-host", read=host_name, default=[], help="allow webhooks to this host, on loopback in addition to this machine; may be repeated", metavar="HOST", form="many"),
    Setting("cors", _flag, False, "let pages of other origins on this machine send requests (CORS)", form="flag"),
    Setting(name="ready-file", read=_some_text, default=None, help="write the address and the keys as JSON once the server listens; removed at its end", metavar="FILE"),
    Setting(name="failures-dir", read=_some_text, default=None, help="folder for the replay document, HAR, trace and report of each sandbox that its client ends as failed (default: none)", metavar="FOLDER"),
    Setting(name="coverage", read=_some_text, default=None, help="write what all sandboxes have covered to this file at the end, for `mockserver coverage` (default: none)", metavar="FILE"),
    Setting("exit-with-parent", _flag, False, "end when the process that started this one ends", form="flag"),
    Setting(name="journal-max-entries", read=_whole, default=JOURNAL_MAX_ENTRIES,
            help=f"maximum of exchanges in the journal of a sandbox (default: {JOURNAL_MAX_ENTRIES})", metavar="COUNT"),
    Setting(name="journal-max-bytes", read=_whole, default=JOURNAL_MAX_BYTES,
            help=f"maximum of their bytes; the oldest are removed first (default: {JOURNAL_MAX_BYTES})", metavar="BYTES"),
    Setting(name="log-format", read=_log_format, default="text", help="format of the log on standard error, one line per call: text, json or off (default: text); with json the "
            "start line is JSON too", metavar="FORMAT"),
)
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({  # of the help, by their titles
    "data and behaviour": ("scenario", "choose", "profile", "freeze", "seed", "strict", "no-reason-header"),
    "address": ("host", "port", "public-url", "behind-proxy", "shard"),
    "access": ("allow-host", "token", "token-file", "allow-webhook-host", "cors"),
    "sandboxes": ("max-sandboxes", "idle", "age", "memory", "journal-max-entries", "journal-max-bytes"),
    "connections": ("head-timeout", "min-body-rate", "max-connections", "max-bodies"),
    "start and end": ("ready-file", "exit-with-parent", "drain"),
    "files and log": ("failures-dir", "coverage", "log-format"),
})
_UNGROUPED_MAX: Final = 8
_EPILOG: Final = "An option can be an environment variable instead: MOCKSERVER_PORT is --port, MOCKSERVER_ALLOW_HOST is --allow-host."
SCENARIO: Final = Setting(name="scenario", read=str, default="demo", help="data and rules at the start (default: demo)", metavar="NAME|FILE")
# fmt: on


def add_options(command: argparse.ArgumentParser, *settings: Setting) -> None:
    """Add settings as options of a command; `resolve` completes what it parses."""
    command.epilog = _EPILOG
    groups: dict[str, Any] = {}
    if len(settings) > _UNGROUPED_MAX:
        for title, names in _GROUPS.items():
            groups |= dict.fromkeys(names, command.add_argument_group(title))
    for setting in settings:
        own: dict[str, Any] = {"help": setting.help, "default": None}
        if setting.form == "flag":
            own["action"] = "store_true"
        else:
            own["type"] = _argument(setting)
            own |= {"metavar": setting.metavar} if setting.metavar else {}
            own |= {"action": "append"} if setting.form == "many" else {}
        groups.get(setting.name, command).add_argument(f"--{setting.name}", **own)


def _argument(setting: Setting) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return setting.read(text)
        except ValueError as refusal:
            raise argparse.ArgumentTypeError(f"got {text!r}; {refusal}") from None

    return read


def resolve(options: argparse.Namespace, *settings: Setting, environ: Mapping[str, str] = os.environ) -> None:
    """
    Complete parsed options by the environment and by the defaults.

    Args:
        options: The parsed command line, changed in place.
        settings: Those of the command.
        environ: The environment variables.

    Raises:
        ValueError: A variable has a wrong value, or no setting has its name; the message contains the nearest one.
    """
    for setting in settings:
        if getattr(options, setting.attribute) is None:
            setattr(options, setting.attribute, _from_environment(setting, environ))
    if not getattr(options, "exit_with_parent", False):
        _refuse_unknown(environ)


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [setting.variable for setting in (SCENARIO, *SETTINGS)]
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in (*known, *_OF_OTHERS) or _SERVICE_LINK.fullmatch(name):
            continue
        # Without the prefix, by which every variable is like every other.
        near = closest_match(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known])
        hint = did_you_mean(near and PREFIX + near)
        raise ValueError(f"got the environment variable {name}; expected one that a setting has{hint}")


def _from_environment(setting: Setting, environ: Mapping[str, str]) -> Any:
    text = environ.get(setting.variable)
    if text is None or (setting.name == "port" and _LINKED_PORT.match(text)):
        return setting.default
    try:
        if setting.form == "many":
            parts = re.split(r"[;\n]", text)
            return [setting.read(part.strip()) for part in parts if part.strip()]
        return setting.read(text)
    except ValueError as refusal:
        raise ValueError(f"{setting.variable}: got {text!r}; {refusal}") from None


def is_exposed(options: argparse.Namespace) -> bool:
    """Return True for a server that other machines reach, by its own address or through a proxy."""
    return options.host not in LOOPBACK or options.behind_proxy


def token_of(options: argparse.Namespace) -> str | None:
    """
    Return the token of the settings, from the file if they name one.

    A short one, or one with a space, is part of ordinary texts, in which it could not be masked.

    Raises:
        ValueError: Both are set, or what is set is no token.
        OSError: The file cannot be read.
    """
    if options.token_file is None:
        return None if options.token is None else _checked_token("--token", options.token)
    if options.token is not None:
        raise ValueError("got a token and a file of one; expected --token or --token-file (or one of their variables)")
    try:
        text = Path(options.token_file).read_text(encoding="utf-8", errors="replace").strip()
    except OSError as failure:
        reason = f"got --token-file {options.token_file} ({failure.strerror})"
        raise OSError(f"{reason}; expected a file with the token, which this user may read") from None
    return _checked_token(f"--token-file {options.token_file}", text)


def _checked_token(option: str, token: str) -> str:
    if len(token) >= _TOKEN_CHARS_MIN and all("!" <= char <= "~" for char in token):
        return token
    expected = f"one word of visible ASCII characters, at least {_TOKEN_CHARS_MIN} of them (is a variable unset?)"
    raise ValueError(f"got {option} of {len(token)} characters; expected {expected}")
