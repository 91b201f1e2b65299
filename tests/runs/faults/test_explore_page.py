"""The page of explorations: one file that shows what the report has, runs nothing and is the same for equal runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.contract.clauses import sentence_of
from mockserver.report import explore_page

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
XSS = (
    "<script>document.title = 'run'</script>",
    "\"'><img src=x onerror=\"document.title = 'run'\">",
    "</title></style></script><svg onload=\"document.title = 'run'\">",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u202e\x1b[31m\ud800",
)


class Reader(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if data.strip() and self.tags[-1] != "style":
            self.texts.append(data.strip())


def retrying(sandbox: Sandbox) -> None:
    """A client that creates a session again if the answer is lost."""
    sandbox.receive_webhooks(lambda request: 204)
    for _ in range(2):
        try:
            created = sandbox.call("POST", SESSIONS, json={}, timeout=5)
            break
        except (ConnectionError, TimeoutError):
            continue
    sandbox.complete_session(created.json()["sessionId"])


def hostile(text: str) -> dict[str, Any]:
    """A report with a text in every place where a run can have one."""
    step = {"kind": "fault", "operation": text, "call": 1, "name": text, "text": text}
    finding = {"verdict": "silent", "cause": text, "message": text, "placements": [[step], []], "count": 3, "lines": [text], "document": text, "clause": text, "advice": text, "shown": [text]}  # fmt: skip
    part = {"placements": 3, "merged": 1, "tried": 2}
    counts = {"survived": 1, "reported": 0, "crashed": 0, "breach": 0, "silent": 1}
    return {
        "test": text, "clean": {"calls": 1, "choicesRead": [text], "deliveries": 0}, "deterministic": False, "notes": [text],
        "singles": part, "pairs": part, "runs": 5, "seconds": 1.0, "verdicts": counts, "findings": [finding],
        "matrix": {text: {text: counts}},
    }  # fmt: skip


def test_the_page_shows_each_finding_and_the_verdict_on_each_fault() -> None:
    with MockServer() as server:
        report = server.explore(retrying, choices=())
    texts = Reader(explore_page.render([report.entry()])).texts

    assert {"breach", "crashed"} == {row.verdict for row in report.findings}
    assert [] == [row.message for row in report.findings if row.message not in texts]
    ruled = [row for row in report.findings if row.clause]
    assert {"events.subscribed"} == {row.clause for row in ruled}
    assert [] == [row.cause for row in ruled if not {row.clause, row.advice} <= set(texts)]
    ours = str(sentence_of("events.subscribed")).removeprefix("in our words: ")
    assert f"In our words: {ours}" in texts
    assert [] == [
        placement.describe()
        for row in report.findings
        for placement in row.placements
        if placement and placement.describe() not in texts
    ]
    assert [] == ["\n".join(row.lines) for row in report.findings if "\n".join(row.lines) not in texts]
    assert {fault for _, fault in report.matrix} | {operation for operation, _ in report.matrix} <= set(texts)
    cells = [f"{verdict} {count}" for counts in report.matrix.values() for verdict, count in counts.items() if count]
    assert [] == [cell for cell in set(cells) if texts.count(cell) < cells.count(cell)]


@pytest.mark.parametrize("text", XSS)
def test_no_text_of_a_run_is_more_than_text(text: str) -> None:
    plain, page = (Reader(explore_page.render([hostile(each)] * 2)) for each in ("plain", text))

    assert plain.tags == page.tags
    assert {"script", "link", "img", "iframe", "base", "form"} & set(page.tags) == set()
    assert [] == [name for name, _ in page.attributes if name in ("src", "style") or name.startswith("on")]
    assert {"#test-1", "#test-2"} == {value for name, value in page.attributes if name == "href"}


def test_the_page_has_no_address_and_a_policy_for_its_style_alone() -> None:
    page = explore_page.render([hostile("plain")])

    assert [] == [each for each in ("http://", "https://", "url(", "@import") if each in page]
    (policy,) = [value for _, value in Reader(page).attributes if str(value).startswith("default-src")]
    assert re.fullmatch(r"default-src 'none'; style-src 'sha256-\S+'; base-uri 'none'; form-action 'none'", str(policy))


def test_a_run_without_an_exploration_gives_a_page_too() -> None:
    assert "0 tests, 0 runs, 0 findings" in explore_page.render([])
