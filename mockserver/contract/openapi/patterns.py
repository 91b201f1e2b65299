"""
Regular expressions of texts that the server checks in code, for the schemas of the document.

1. A pattern accepts every text that the server accepts, and some that it refuses: no pattern decides which years are leap years.
2. Patterns have no lookaround, back reference or class of Unicode, which some engines of JSON Schema lack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SEPARATORS: Final = (("-", ":"), ("", ""))  # of date and time, in the extended and the basic format
_DAY_OF_YEAR: Final = "(00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])"
_WEEK: Final = "(0[1-9]|[1-4][0-9]|5[0-3])"
_HOUR: Final = "([01][0-9]|2[0-3])"
_FRACTION: Final = "([.,][0-9]+)?"
_SIGN: Final = "[+\\-\u2212]"


def _day_of_month(dash: str) -> str:
    every_month = f"(0[1-9]|1[0-2]){dash}(0[1-9]|[12][0-9])"
    return f"({every_month}|(0[13-9]|1[0-2]){dash}30|(0[13578]|1[02]){dash}31)"


def filter_date(choices: Mapping[str, object]) -> str:
    """Return the pattern of a date operand of a filter, by `date-offset` and `date-only-and-naive`."""
    is_lenient = choices["date-only-and-naive"] != "reject"
    formats = []
    for dash, colon in _SEPARATORS:
        midnight = f"24({colon}00({colon}00)?)?([.,]0+)?"
        clock = f"({_HOUR}({colon}[0-5][0-9]({colon}([0-5][0-9]|60))?)?{_FRACTION}|{midnight})"
        numeric = "" if choices["date-offset"] == "z-only" else f"|{_SIGN}([01][0-9]|2[0-3])({colon}[0-5][0-9])?"
        offset = f"([Zz]{numeric})" + "?" * is_lenient
        days = f"({_day_of_month(dash)}|W{_WEEK}{dash}[1-7]|{_DAY_OF_YEAR})"
        formats.append(f"[0-9]{{4}}{dash}{days}[Tt]{clock}{offset}")
    date = f"[0-9]{{4}}-{_day_of_month('-')}"
    return "^(" + "|".join([*formats, *([date] if is_lenient else [])]) + ")$"


_OCTET: Final = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]|0[0-7]+|0[Xx][0-9A-Fa-f]*)"
_LAST_PART: Final = "([0-9]{1,10}|0[0-7]+|0[Xx][0-9A-Fa-f]*)"  # of an IPv4 address, as the URL standard reads it
_IPV4: Final = f"(({_OCTET}\\.){{3}}{_OCTET}|({_OCTET}\\.){{0,2}}{_LAST_PART})\\.?"
_IPV6: Final = "\\[[0-9A-Fa-f:.]+\\]"
# What ends with a number is an IPv4 address, unless a character is decoded, or mapped to a digit or a dot.
_NOT_DIGIT: Final = "!\"$&'()*+,;=A-Z_`a-z{}~\\-"
_LABEL: Final = f"[{_NOT_DIGIT}0-9]*"
_DECODED: Final = "([^\\x00-\\x7f]|%[0-9A-Fa-f]{2})"
_NAME: Final = f"({_LABEL}\\.)*([0-9]*[{_NOT_DIGIT}]{_LABEL}\\.?|\\.)|[{_NOT_DIGIT}0-9.]*{_DECODED}({_DECODED}|[{_NOT_DIGIT}0-9.])*"
_PORT: Final = "(:(0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?)?"
_REST: Final = "([/?#][^\\x00-\\x20\\x7f\\\\]*)?$"
_THIS_MACHINE: Final = "([Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|127\\.0\\.0\\.1|\\[::1\\])"

HTTPS_URL: Final = f"^[Hh][Tt][Tt][Pp][Ss]://({_IPV4}|{_IPV6}|{_NAME}){_PORT}{_REST}"
LOOPBACK_URL: Final = f"^[Hh][Tt][Tt][Pp]://{_THIS_MACHINE}{_PORT}{_REST}"
