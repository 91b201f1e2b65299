"""Text that a client sends reaches a log, a terminal and a report as printable text, one line per call."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer
from mockserver.contract.text import printable
from mockserver.core.redaction import Redactor
from mockserver.server.hosting.log_lines import ServerLog, as_text
from tests.harness.rows import each_row

KEY = "sk_aaaaaaaaaaaaaaaa"
ODD = ["\n", "\r\n", "\x1b[2J", "\x85", "\x9b31m", "\u2028", "\u202e", "\x00", "\ud800"]
ENCODED = ["%0a", "%0D%0A", "%1b[2J", "%c2%85", "%C2%9B31m", "%e2%80%a8", "%e2%80%ae", "%00"]


@each_row("odd", ODD)
def test_a_character_that_a_terminal_acts_on_becomes_an_escape(odd: str) -> None:
    text = printable(f"a{odd}b")

    assert text.isprintable()
    assert ("a", "b") == (text[0], text[-1])


def test_of_two_secrets_that_begin_alike_the_longer_is_hidden_whole() -> None:
    assert "key=abc..., key=abc..." == Redactor(["abcdef", "abcdefghij"]).text("key=abcdefghij, key=abcdef")


@pytest.mark.parametrize("prefix", ["sk_", "pk_", "whsec_"])
def test_a_text_in_the_form_of_a_key_is_masked_without_a_known_secret(prefix: str) -> None:
    shown = Redactor([]).text(f"x={prefix}Ab9+/=-Ab9+/=-Ab&y=1, task_one, {prefix}campaign_one")

    assert f"x={prefix[:3]}...&y=1, task_one, {prefix}campaign_one" == shown


@given(st.text(st.characters(codec="utf-8")))
def test_a_redacted_text_has_no_unprintable_character_that_it_did_not_have(text: str) -> None:
    hidden = Redactor([KEY]).text(f"{text}%{KEY[0]}{text} {KEY}")

    assert KEY not in hidden
    assert {char for char in hidden if not char.isprintable()} <= set(text)


@pytest.mark.parametrize("encoded", ENCODED)
def test_a_call_is_one_printable_line_of_the_log(encoded: str) -> None:
    lines: list[str] = []
    server = MockServer()
    server._host.log = ServerLog(lambda line: lines.append(as_text(line)[0].removesuffix("\n")))
    with server, server.sandbox() as sandbox:
        for target in (f"/v1/x{encoded}?key={KEY}", f"/v1/campaigns?{unquote(encoded)}"):
            sandbox.call("GET", target)
            sandbox.call(f"GET{unquote(encoded)}", target)

    assert 4 == len(lines)
    assert [True] * 4 == [each.isprintable() for each in lines]
