"""Where a sandbox's settings come from: the nearest source wins, choices are merged, and the error of a misspelt one names the nearest."""

from __future__ import annotations

from ast import literal_eval
from dataclasses import fields
from typing import Any

import pytest

from mockserver._settings import EXPLORE_IN_PYTHON, INTERLEAVE, Setting
from mockserver.testing.explore import ExploreOptions
from mockserver.testing.interleave import InterleaveOptions
from mockserver.testing.setting_checks import merge_layers
from mockserver.testing.settings import Layer
from tests.harness.rows import each_row
from tests.testing.conftest import Suite

SOURCES = ("ini file", "command line", "mockserver_settings", "mark")
SEED = "    def test_it(mockserver):\n        assert {seed} == mockserver.state()['seed']\n"


def layers(*values: dict[str, Any]) -> list[Layer]:
    return [Layer(f"layer {number}", each) for number, each in enumerate(values)]


@pytest.mark.parametrize("nearest", range(len(SOURCES) + 1))
def test_the_nearest_source_wins(suite: Suite, nearest: int) -> None:
    """Each source up to `nearest` sets its own number; the last one's is in force."""
    arguments = ["-o", "mockserver_seed=1"] if nearest > 0 else []
    arguments += ["--mockserver-seed", "2"] if nearest > 1 else []
    if nearest > 2:
        fixture = "@pytest.fixture(scope='session')\ndef mockserver_settings():\n    return {'seed': 3}\n"
        suite.pytester.makeconftest(f"import pytest\n\n{fixture}")
    mark = "    import pytest\n\n    @pytest.mark.mockserver(seed=4)\n" if nearest > 3 else ""

    suite.run(mark + SEED.format(seed=nearest), *arguments).assert_outcomes(passed=1)


@pytest.mark.parametrize(("record", "settings"), [(ExploreOptions, EXPLORE_IN_PYTHON), (InterleaveOptions, INTERLEAVE)])
def test_the_options_of_a_search_are_its_settings_with_their_defaults(
    record: Any, settings: tuple[Setting, ...]
) -> None:
    defaults = {field.name: field.default for field in fields(record)}
    named = {setting.attribute: setting.default for setting in settings if setting.type != "function"}
    absent = (None, (), False)

    assert defaults.keys() == named.keys()
    assert [] == [name for name, text in named.items() if text is not None and literal_eval(text) != defaults[name]]
    assert [] == [name for name, text in named.items() if text is None and defaults[name] not in absent]


def test_choices_are_merged_by_id_with_their_sources() -> None:
    found = merge_layers(
        layers(
            {"choices": {"dual-status": "guide", "cancel-final": "no-op"}}, {"choices": {"cancel-final": "not-draft"}}
        )
    )

    assert {"dual-status": "guide", "cancel-final": "not-draft"} == found.get("choices")
    assert {"dual-status": "layer 0", "cancel-final": "layer 1"} == {
        choice: found.sources[choice] for choice in ("dual-status", "cancel-final")
    }


def test_a_profile_replaces_a_farther_one_and_wins_over_farther_choices_but_not_over_its_own_layers() -> None:
    own = {"profile": "guide", "choices": {"dual-status": "catalog"}}
    found = merge_layers(
        layers({"profile": "hostile", "choices": {"cancel-final": "no-op", "message-text": "empty"}}, own)
    )

    chosen = found.get("choices")
    assert "catalog" == chosen["dual-status"]
    assert "empty" == chosen["message-text"]
    assert set(merge_layers(layers({"profile": "guide"})).get("choices")) | {
        "dual-status",
        "cancel-final",
        "message-text",
    } == set(chosen)


@pytest.mark.parametrize(
    ("far", "near"),
    [({"now": "2026-01-01T00:00:00Z"}, {"clock": "follow"}), ({"clock": "follow"}, {"now": "2026-01-01T00:00:00Z"})],
)
def test_of_a_following_clock_and_an_instant_the_closer_layer_wins(far: dict[str, Any], near: dict[str, Any]) -> None:
    assert near == dict(merge_layers(layers(far, near)).values)


def test_none_takes_a_farther_setting_back() -> None:
    assert {} == dict(merge_layers(layers({"scenario": "demo", "seed": 3}, {"scenario": None, "seed": None})).values)


def test_one_layer_with_two_words_for_the_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="got clock='follow' with now='2026-01-01T00:00:00Z'; expected"):
        merge_layers(layers({"clock": "follow", "now": "2026-01-01T00:00:00Z"}))


@each_row(
    ("arguments", "problem"),
    [
        (
            ("--mockserver-choices", "dual-statu=guide"),
            "*--mockserver-choices: *'dual-statu'*did you mean 'dual-status'?*",
        ),
        (("--mockserver-choices", "dual-status"), "*--mockserver-choices: got 'dual-status'; expected ID=OPTION*"),
        (("--mockserver-seed", "seven"), "*--mockserver-seed: got 'seven'; expected a whole number*"),
        (("--mockserver-seed", "²"), "*--mockserver-seed: got '²'; expected a whole number*"),
        (("--mockserver-seed", "9" * 5000), "*--mockserver-seed: got '999*'; expected a whole number*"),
        (("--mockserver-choices", f"dual-status={'[' * 5000}"), "*--mockserver-choices: *dual-status*"),
        (("--mockserver-clock", "folow"), "*--mockserver-clock: got 'folow'; expected 'follow'*"),
        (("-o", "mockserver_profile=hostil"), "*/profile: *did you mean 'hostile'*"),
        (("-o", "mockserver_scenario=dem"), "*mockserver_scenario: *did you mean 'demo'?*"),
        (("-o", "mockserver_scenario=mine.yaml"), "*mockserver_scenario: *got 'mine.yaml'; expected a file*"),
        (("-o", "mockserver_strict=maybe"), "*mockserver_strict (ini file): got 'maybe'; expected true or false*"),
        (
            ("-o", "mockserver_conduct=errors"),
            "*got 'errors'; expected error, report, on-failure or off; did you mean 'error'?*",
        ),
        (("-o", "mockserver_cov=maybe"), "*mockserver_cov (ini file): got 'maybe'; expected true or false*"),
        (
            ("--mockserver-url", "127.0.0.1:5055"),
            "*--mockserver-url: got '127.0.0.1:5055'; *; did you mean 'http://127.0.0.1:5055'?*",
        ),
        (("--mockserver-now", "yest"), "*--mockserver-now: *now: got 'yest'; expected an RFC 3339 instant*"),
    ],
)
def test_an_unknown_option_ends_the_run_before_any_test(suite: Suite, arguments: tuple[str, ...], problem: str) -> None:
    result = suite.run("def test_it(): pass\n", *arguments)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    pytest.LineMatcher(result.outlines + result.errlines).fnmatch_lines([problem])


# Arguments of the mark that are refused, and the words of the refusal after its place.
WRONG_MARKS = {
    'scenaro="demo"': "*scenaro*did you mean*'scenario'*",
    'scenario="dem"': "*dem*did you mean*demo*",
    "scenario=5": "*scenario: got 5; expected a name of the library, a file*",
    'scenario="nofile.yaml"': "*scenario: got 'nofile.yaml'; expected a file*",
    'choices={"dual-statu": "guide"}': "*dual-statu*dual-status*",
    'choices={"dual-status": "gide"}': "*gide*guide*",
    'choices="guide"': "*choices: got 'guide'; expected a mapping*",
    'profile="hostil"': "*hostil*did you mean 'hostile'*",
    'profile={"choices": {}}': "*profile: got {*; expected literal, guide, hostile, or a file*",
    'clock="frozen"': "*clock: got 'frozen'; expected 'follow'*",
    'clock="follow", now="2026-03-01T12:00:00Z"': "*: got clock='follow' with now=*",
    'now="yesterday"': "*now: got 'yesterday'; expected an RFC 3339 instant*",
    "now=7": "*now: got 7; expected an RFC 3339 instant*",
    'now="20260301T120000Z"': "*now: got '20260301T120000Z'; expected an RFC 3339 instant*",
    'now="2026-03-01T12:00:00"': "*now: got '2026-03-01T12:00:00'; expected an RFC 3339 instant*",
    'conduct="errors"': "*got 'errors'; expected error, report, on-failure or off; did you mean 'error'?*",
    'seed="seven"': "*seed: got 'seven'; expected a whole number*",
    "seed=True": "*seed: got True; expected a whole number*",
    'given={"chat": []}': "*/given/chat: *did you mean 'chats'*",
    "given=[]": "*/given: got *; expected an object*",
}


def test_a_wrong_mark_fails_its_own_test_alone(suite: Suite) -> None:
    marks = [f"@pytest.mark.mockserver({mark})\ndef test_{n}(): pass\n" for n, mark in enumerate(WRONG_MARKS)]
    document = (
        "@pytest.mark.mockserver(given={'chats': [{'id': 'one'}, {'id': 'one'}]})\ndef test_it(mockserver): pass\n"
    )
    result = suite.run("\n".join(["import pytest\n", *marks, document, "def test_right(mockserver): pass"]))

    result.assert_outcomes(passed=1, errors=len(WRONG_MARKS) + 1)
    result.stdout.fnmatch_lines_random([*WRONG_MARKS.values(), "*ScenarioError: /given/chats/1*"])


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("{'sede': 3}", "got 'sede'; expected *; did you mean 'seed'?"),
        ("['seed', 3]", "got *'seed', 3*; expected a dict of settings by name"),
        ("{'strict': 'no'}", "strict: got 'no'; expected True or False"),
    ],
)
def test_a_wrong_setting_of_the_fixture_is_reported(suite: Suite, settings: str, problem: str) -> None:
    suite.pytester.makeconftest(
        f"import pytest\n\n@pytest.fixture(scope='session')\ndef mockserver_settings():\n    return {settings}\n"
    )

    result = suite.run("def test_it(mockserver): pass\n")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"E   *the fixture mockserver_settings: {problem}*"])


@pytest.mark.parametrize(
    ("arguments", "strict"),
    [
        ((), False),
        (("--mockserver-strict",), True),
        (("-o", "mockserver_strict=true"), True),
    ],
)
def test_strict_is_the_servers(suite: Suite, arguments: tuple[str, ...], strict: bool) -> None:
    source = f"def test_it(mockserver_server): assert {strict} is mockserver_server._host.response_options.strict\n"

    suite.run(source, *arguments).assert_outcomes(passed=1)
