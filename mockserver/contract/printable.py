"""Texts of a stranger, made safe to print."""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    """The text with a backslash escape for each character that a terminal would act on or not show, but for those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode() for char in text
    )
