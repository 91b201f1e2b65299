"""`mockserver docs` and `mockserver skill`: the pages of the documentation as Markdown, without a network."""

from __future__ import annotations

import argparse
import re
from typing import Final, NamedTuple, TextIO

from mockserver._data import data_dir
from mockserver.contract.text import closest_match_hint

_QUICK_GUIDE: Final = "quick"
_SKILL_HEAD: Final = """\
---
name: mockserver
description: Test code that calls the CRM gateway's HTTP API (campaigns, templates, messages, connection sessions, webhooks) with mockserver: write a first test, read the report of a failing one, explore faults and close gaps of coverage.
---

"""
_ROW: Final = re.compile(r"^\| (?P<links>.*\]\([\w/-]+\.md\).*) \| (?P<shows>.*) \|$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([\w/-]+)\.md\)")
_ENTRY: Final = re.compile(
    r"^- \[([^\]]+)\]\(([\w-]+)\.md\): (.*)$", re.MULTILINE
)  # of the front page of the reference
_REFERENCE: Final = "reference/index"
_MARKER: Final = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)  # of the tests that run the pages' blocks


class Topic(NamedTuple):
    """A page: the name under which `mockserver docs` prints it, its title, and what it shows."""

    topic: str
    title: str
    shows: str


def add_docs_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver docs`."""
    command.add_argument("topic", nargs="?", metavar="TOPIC", help="the page to print (default: the list of all pages)")


def add_skill_options(command: argparse.ArgumentParser) -> None:
    """Add no option: `mockserver skill` has none."""


def topics() -> list[Topic]:
    """Return the pages in the order of the front page, whose tables are their list, and those of the reference after its own."""
    listed: list[Topic] = []
    for row in _ROW.finditer(_read("index")):
        listed += [Topic(topic, title, row["shows"]) for title, topic in _LINK.findall(row["links"])]
        if listed[-1].topic == _REFERENCE:
            entries = _ENTRY.findall(_read(_REFERENCE))
            listed += [Topic(f"reference/{name}", title, shows) for title, name, shows in entries]
    return list({each.topic: each for each in listed}.values())


def print_docs(options: argparse.Namespace, out: TextIO) -> int:
    """Print a page, or the list of all pages."""
    listed = topics()
    if options.topic is None:
        width = max(len(each.topic) for each in listed)
        for each in listed:
            print(f"{each.topic:<{width}}  {each.shows}", file=out)
        return 0
    found = next((each for each in listed if each.topic == options.topic.removesuffix(".md")), None)
    if found is None:
        names = [each.topic for each in listed]
        pages = ", ".join(name for name in names if not name.startswith("reference/"))
        hint = closest_match_hint(options.topic, names)
        raise ValueError(
            f"got {options.topic}; expected {pages}, or a page of the reference, such as {_REFERENCE}{hint}"
        )
    print(_page(found.topic).rstrip("\n"), file=out)
    return 0


def print_skill(options: argparse.Namespace, out: TextIO) -> int:
    """Print the skill for coding agents."""
    print((_SKILL_HEAD + _page(_QUICK_GUIDE)).rstrip("\n"), file=out)
    return 0


def _page(topic: str) -> str:
    return _MARKER.sub("", _read(topic))


def _read(name: str) -> str:
    return (data_dir("docs") / f"{name}.md").read_text(encoding="utf-8")
