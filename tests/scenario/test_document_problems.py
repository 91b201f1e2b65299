"""A broken document: what its schema refuses, else what else is wrong, in the order of the file, with line, column and the right name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox, ScenarioError
from mockserver._json import JSON
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.scenario import library
from mockserver.scenario.documents import to_plain
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from tests.harness.rows import each_row

BROKEN = """\
scenario: broken
templates: [{id: template_x}]
choices: {dual-status: [giude]}
clock: {}
given:
  chats:
    - {id: chat_a, platfrm: chatapp}
    - 5
  messages:
    - {}
script:
  - on: startCampaign
    drop: after
  - on: createCampaign
    do: {set-tenent: {}}
  - on: cancelCampaign
    do: {error: INTERNAL_EROR, nth: 3}
  - do: {drop: 5}
"""
PROBLEMS = [
    ("/templates", "line 2, column 1", "given.templates"),
    ("/choices/dual-status", "line 3, column 11", None),
    ("/clock", "line 4, column 1", None),
    ("/given/chats/0/platfrm", "line 7, column 20", "platform"),
    ("/given/chats/1", "line 8, column 7", None),
    ("/given/messages/0/chatId", "line 10, column 7", None),
    ("/script/0/do", "line 12, column 5", None),
    ("/script/0/drop", "line 13, column 5", "do.drop"),
    ("/script/1/do/set-tenent", "line 15, column 10", "set-tenant"),
    ("/script/2/do/error", "line 17, column 10", "INTERNAL_ERROR"),
    ("/script/2/do/nth", "line 17, column 32", "nth"),
    ("/script/3/do/drop", "line 18, column 10", None),
]
CONTRADICTORY = """\
choices: {dual-statsu: guide, dual-status: giude}
given:
  chats:
    - {id: chat_a, name: Ana}
    - {id: chat_a}
  messages:
    - {chatId: chat_b}
script:
  - on: startCampain
    do: {drop: after}
  - on: cancelCampaign
    where: {bdy.name: x}
    do: {drop: after}
  - at: soon
    do: {advance: x}
  - do: {drop: after}
"""
CONTRADICTIONS = [
    ("/choices/dual-statsu", "line 1, column 11", "dual-status"),
    ("/choices/dual-status", "line 1, column 31", "guide"),
    ("/given/chats/1/id", "line 5, column 8", None),
    ("/given/messages/0/chatId", "line 7, column 8", "chat_a"),
    ("/script/0/on", "line 9, column 5", "startCampaign"),
    ("/script/1/where/bdy.name", "line 12, column 13", "body"),
    ("/script/2/at", "line 14, column 5", None),
    ("/script/2/do/advance", "line 15, column 10", None),
    ("/script/3", "line 16, column 5", None),
    ("/script/3/do", "line 16, column 5", None),
]
ODD = ("a value or a value", "no property but", 'got "after"', "(35 names)", "mustFire, do, ")


def problems_of(refusal: pytest.ExceptionInfo[ScenarioError]) -> list[tuple[str, str | None, str | None]]:
    return [(each.path, each.position, each.nearest) for each in refusal.value.problems]


@pytest.mark.parametrize(
    ("text", "problems"), [(BROKEN, PROBLEMS), (CONTRADICTORY, CONTRADICTIONS)], ids=["schema", "meaning"]
)
def test_every_problem_of_a_file_is_shown_in_its_order_with_line_and_column(
    mockserver_server: MockServer, tmp_path: Path, text: str, problems: list[tuple[str, str, str | None]]
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(text, encoding="utf-8")

    with pytest.raises(ScenarioError) as refusal:
        mockserver_server.sandbox(str(broken))

    assert problems == problems_of(refusal)
    assert str(refusal.value).startswith(f"{broken}: {problems[0][0]} ({problems[0][1]}): got ")
    assert [] == [text for text in ODD if text in str(refusal.value)]


# A document with one problem: its place, what is there, what is expected, and the nearest name.
WORDED = [
    ({"clock": {"freeze": "2026-03-01T12:00:00Z", "follow": True}}, "/clock", "both", "exactly one of freeze and follow", None),
    ({"clock": 3}, "/clock", "3", "an object", None),
    ({"calls": [{}]}, "/calls/0", "neither", "exactly one of call and do", None),
    ({"chat": []}, "/chat", 'the key "chat"', "a key of the document: one of version, scenario, summary", "given.chats"),
    ({"campaign": "x"}, "/campaign", 'the key "campaign"', "a key of the document", "given.campaigns"),
    ({"script": [{"on": "*", "sent": 3, "do": {"garble": True}}]}, "/script/0/sent", 'the key "sent"', "a key of `script`", "after.sent"),
    ({"script": [{"on": "*", "do": {"zzz": 1}}]}, "/script/0/do/zzz", 'the key "zzz"', "a key of `do`: one of 35, such as drop, reset, error", None),
    ({"script": [{"on": "*", "do": {"error": 5}}]}, "/script/0/do/error", "5", "one of 39, such as", None),
    ({"script": [{"on": "*", "do": {}}]}, "/script/0/do", "{}", "an object of at least 1 property, such as drop", None),
    ({"given": {"messages": [{}]}}, "/given/messages/0/chatId", "nothing", "a string: it is required", None),
    ({"choices": {"rate-limit-numbers": {"requests": {}}}}, "/choices/rate-limit-numbers/requests", "{}", "a string or a number or null", None),
    ({"choices": {"a/b": "x"}}, "/choices/a~1b", '"a/b"', "the id of a choice", None),
    ([], "", "[]", "an object", None),
    ({"script": [{"on": "startCampaign", "do": {"when": "before", "drop": "after"}}]}, "/script/0/do/when", 'the key "when"', "when one level up, next to do", "when"),
    ({"given": {"chats": [{"id": "chat_ana", "messages": [{"text": "Oi"}]}]}}, "/given/chats/0/messages", 'the key "messages"', "messages one level up, next to chats", "messages"),
    ({"given": {"templates": [{"isOfficial": True, "providerTemplateStatus": "REJECTED"}]}}, "/given/templates/0/isOfficial", "true", "false, since the status is REJECTED", None),
    ({"script": [{"on": "createCampaign", "do": {"error": 429}}]}, "/script/0/do/error", "429", "one of 39, such as ", "RATE_LIMIT_EXCEEDED"),
    ({"script": [{"on": "createCampaign", "where": {"name": "x"}, "do": {"drop": "after"}}]}, "/script/0/where/name", '"name"', "a path that begins with path, query, header, body, such as body.name", None),
    ({"given": {"chats": [{"id": "chat_a", "birthDate": "2026-02-30"}]}}, "/given/chats/0/birthDate", '"2026-02-30"', "a day that exists, such as 1990", None),
    # Values that JSON has no form for.
    *(
        ({"script": [{"on": "*", "do": {"reply": {"status": 200, "body": {"a": [value]}}}}]}, "/script/0/do/reply/body/a/0", found, "", None)
        for value, found in (
            ({1, 2}, "a value of type set"), (b"x", "a value of type bytes"), (float("inf"), "inf"), (float("nan"), "nan"),
            ("\ud800", "half of a surrogate pair"), (10**5000, "too long a number"),
        )
    ),
]  # fmt: skip


@each_row(("document", "path", "found", "wanted", "nearest"), WORDED)
def test_a_problem_contains_the_value_and_the_expectation(
    mockserver: Sandbox, document: Any, path: str, found: str, wanted: str, nearest: str | None
) -> None:
    with pytest.raises(ScenarioError) as refusal:
        mockserver.apply(document)

    [problem] = refusal.value.problems
    assert (path, found, nearest) == (problem.path, problem.found, problem.nearest)
    assert wanted in problem.wanted


def test_no_problem_shows_a_key(mockserver: Sandbox) -> None:
    key = "sk_live_0123456789abcdef"

    with pytest.raises(ScenarioError) as refusal:
        mockserver.apply({"given": {"tenants": [{"secretKey": [key], key: 1}]}})

    assert 2 == len(refusal.value.problems)
    assert key not in f"{refusal.value} {refusal.value.problems}"


def test_thousands_of_problems_are_counted_and_the_first_hundred_listed(mockserver: Sandbox) -> None:
    script = [{"on": f"startCampain{number}", "do": {"garble": True}} for number in range(250)]

    with pytest.raises(ScenarioError) as refusal:
        mockserver.apply({"script": script})

    assert 250 == len(refusal.value.problems)
    assert str(refusal.value).endswith("\n  and 150 more\n  nothing of the scenario document was applied")


def test_more_problems_than_a_schema_explains_are_a_refusal(mockserver: Sandbox) -> None:
    script = [{"on": "startCampain", "do": {"garbel": True}} for _ in range(PROBLEMS_MAX + 1)]

    with pytest.raises(ScenarioError, match='/script/0/do/garbel: got the key "garbel"'):
        mockserver.apply({"script": script})


JUNK = [None, 5, -1, 1.5, "", "x", "²", True, [], {}, ["a"], [5], {"id": "a"}, {"²": 1}, 10**20]


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of each value below this one."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*place, key)
        yield from places(value[key], (*place, key))


@given(data=strategies.data())
def test_whatever_is_wrong_with_a_document_it_is_refused_whole(data: st.DataObject) -> None:
    document = to_plain(library.document(data.draw(strategies.sampled_from(list(library.paths())))))
    for _ in range(data.draw(strategies.integers(1, 4))):
        *parents, last = data.draw(strategies.sampled_from(list(places(document))))
        holder = document
        for key in parents:
            holder = holder[key]
        change = data.draw(strategies.sampled_from(["replace", "rename", "remove"]))
        if change == "rename" and isinstance(holder, dict):
            holder[data.draw(strategies.sampled_from(["templates", "drop", "nth", "a/b", "~"]))] = holder.pop(last)
        elif change == "remove" and len(document) > 1:
            del holder[last]
        else:
            holder[last] = deepcopy(data.draw(strategies.sampled_from(JUNK)))
    sandbox = MockServer().sandbox()
    before = sandbox.state()

    try:
        sandbox.apply(document)
    except ScenarioError as refusal:
        assert refusal.problems
        assert before == sandbox.state()


# A document has this key or value at some place; each of these characters acts on a terminal or ends a line.
ODD_TEXT = "a\x1b[2J\x9b31m\u202e\nb"
PLACES: dict[str, Callable[[str], JSON]] = {
    "unknown key": lambda text: {text: 1},
    "key one level down": lambda text: {"given": {text: 1}},
    "key above a problem": lambda text: {"given": {"chats": [{"custom": {text: {"a": 1}}}]}},
    "id": lambda text: {"given": {"chats": [{"id": text}, {"id": text}]}},
    "choice": lambda text: {"choices": {text: "guide"}},
    "option": lambda text: {"choices": {"dual-status": text}},
    "path of a condition": lambda text: {"script": [{"on": "createCampaign", "where": {f"bdy.{text}": 1}, "do": {"drop": "after"}}]},
    "operation": lambda text: {"script": [{"on": text, "do": {"drop": "after"}}]},
    "header": lambda text: {"script": [{"on": "createCampaign", "do": {"reply": {"status": 200, "headers": {text: "a"}}}}]},
    "instant": lambda text: {"clock": {"freeze": text}},
}  # fmt: skip


@each_row("document", PLACES.values())
def test_a_problem_is_one_printable_line_whatever_the_document_contains(document: Callable[[str], JSON]) -> None:
    with pytest.raises(ScenarioError) as refused:
        SandboxHost().create(SandboxConfig(document(ODD_TEXT)))

    assert [] == [line for line in map(str, refused.value.problems) if not line.isprintable()]
    assert str(refused.value).replace("\n", "").isprintable()
