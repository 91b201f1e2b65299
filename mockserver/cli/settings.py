"""The settings of commands: by options, for a server else by environment variables `MOCKSERVER_...`, else by default."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from mockserver._settings import Setting
from mockserver.contract.durations import parse_duration
from mockserver.contract.text import whole_number
from mockserver.core.webhooks.url_policy import host_name
from mockserver.server.hosting.shard import read_shard

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
OFF: Final = 0  # of a limit
_LINKED_PORT: Final = re.compile(r"(tcp|udp)://")  # what Kubernetes and Docker set for a service named `mockserver`
_SIZE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kMGT]i?)?B?", re.ASCII)
_FACTORS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TOKEN_CHARS_MIN = 8
_SIZE_MIN: Final = 10**6  # the memory of a few sandboxes without data, or one small upload
_BINARY_FACTORS: Final = {"ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def _whole(text: str) -> int:
    digits = text.strip()
    number = whole_number(digits.removeprefix("-"))
    if number is None:
        bound = " of at most 15 digits" if len(digits) > 15 else ""
        raise ValueError(f"expected a whole number{bound}")
    return -number if digits.startswith("-") else number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("expected a number") from None


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


# How a text is read, by the type of the setting.
_READERS: Final[Mapping[str, Callable[[str], Any]]] = MappingProxyType(
    {
        "any text": str,
        "text": _some_text,
        "flag": _flag,
        "whole number": _whole,
        "count": _limit(whole_number, "a whole number from 1"),
        "byte count": _limit(whole_number, "a whole number of bytes from 1"),
        "host name": host_name,
        "url": _url,
        "shard": read_shard,
        "path": Path,
        "names": str,
        "number": _number,
        "seconds": _number,
        "runs": _whole,
        "runs or 0": _whole,
    }
)
_UNGROUPED_MAX: Final = 8
_EPILOG: Final = "An option can be an environment variable instead: MOCKSERVER_PORT is --port, MOCKSERVER_ALLOW_HOST is --allow-host."


def read(setting: Setting, text: str) -> Any:
    """Return the value of a text; ValueError with what is expected."""
    if setting.type == "duration":
        return _limit(parse_duration, f"a duration such as {setting.example}")(text)
    if setting.type == "size":
        return _limit(_large_size, f"a size of at least 1MB such as {setting.example}, 512MB or 1GiB")(text)
    if not setting.options:
        return _READERS[setting.type](text)
    if text not in setting.options:
        raise ValueError(setting.expected(text))
    return text


def default_of(setting: Setting) -> Any:
    """Return the value of a setting that is not set; None for one that follows from others, or is absent."""
    if setting.form == "many":
        return []
    if setting.form == "flag":
        return False
    return None if setting.default is None else read(setting, setting.default)


def add_options(command: argparse.ArgumentParser, *settings: Setting) -> None:
    """Add settings as options of a command; `resolve` completes those of the server, which have variables."""
    titles = dict.fromkeys(setting.group for setting in settings)
    groups: dict[str, Any] = {}
    if len(settings) > _UNGROUPED_MAX:
        groups = {title: command.add_argument_group(title) for title in titles}
    for setting in settings:
        has_variable = "serve" in setting.places
        if has_variable:
            command.epilog = _EPILOG
        own: dict[str, Any] = {"help": setting.help, "default": None if has_variable else default_of(setting)}
        if setting.form == "flag":
            own["action"] = "store_true"
        else:
            own["type"] = _argument(setting)
            own |= {"metavar": setting.metavar} if setting.metavar else {}
            own |= {"action": "append"} if setting.form == "many" else {}
        groups.get(setting.group, command).add_argument(f"--{setting.name}", **own)


def _argument(setting: Setting) -> Callable[[str], Any]:
    def read_argument(text: str) -> Any:
        try:
            return read(setting, text)
        except ValueError as refusal:
            raise argparse.ArgumentTypeError(f"got {text!r}; {refusal}") from None

    return read_argument


def resolve(options: argparse.Namespace, *settings: Setting, environ: Mapping[str, str] = os.environ) -> None:
    """
    Complete parsed options by the environment and by the defaults.

    Args:
        options: The parsed command line, changed in place.
        settings: Those of the command.
        environ: The environment variables.

    Raises:
        ValueError: A variable has a wrong value.
    """
    for setting in settings:
        if getattr(options, setting.attribute) is None:
            setattr(options, setting.attribute, _from_environment(setting, environ))


def _from_environment(setting: Setting, environ: Mapping[str, str]) -> Any:
    text = environ.get(setting.variable)
    if text is None or (setting.name == "port" and _LINKED_PORT.match(text)):
        return default_of(setting)
    try:
        if setting.form == "many":
            parts = re.split(r"[;\n]", text)
            return [read(setting, part.strip()) for part in parts if part.strip()]
        return read(setting, text)
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
