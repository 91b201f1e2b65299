"""The tables of what the document leaves open: complete, legal, explained where misused, and each option tested."""

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import pytest

from docs.reference.contract_pages import choices_page
from mockserver.contract.choices import (
    CHOICES,
    DEFAULTS,
    FIXED,
    access,
    campaigns,
    content,
    events,
    filters,
    merged,
    problem,
    sessions,
)

TESTS = Path(__file__).resolve().parents[1]
FAMILIES = (access, campaigns, filters, content, sessions, events)
NAMED = [(choice.id, option) for choice in CHOICES.values() for option in choice.options]
EFFECTS = [row.id for row in FIXED.values() if row.kind == "effect"]

# Every open point of the document, in the order in which it was surveyed.
OPEN_POINTS = re.findall(
    r"\S+",
    """
public-key-prefix public-key-endpoints campaign-endpoints-extent empty-key-header unknown-public-key
auth-precedence auth-vs-routing subscription-scope cross-tenant-code session-key-identity key-scopes
key-revoked-midway success-status dual-status template-not-found-code create-check-order start-check-order
validation-vs-invalid-request malformed-json head-bounds json-body-bounds json-encoding repeated-names body-where-none-is late-requests wrong-framing wrong-content-type
empty-json-body unknown-body-keys
unknown-query-keys null-for-optional number-spelling cadence-above-2^53 string-length-unit string-trim
name-uniqueness-scope name-race platform-required idempotency-key error-extra-keys message-text non-json-errors
unknown-route wrong-method malformed-path-id encoded-path trailing-slash datetime-spelling additive-fields new-enum-values
rate-limit-numbers rate-limit-headers rate-limit-counts-what list-order list-pagination detail-fields
read-after-write cors browser-pages instants-as-shown date-header reason-phrase version-header cancel-draft cancel-final repeat-cancel cancel-unknown
late-sends-after-cancel execution-status-lag completedAt-on-cancel-fail not-draft-vs-already-processing
executions-multiplicity already-processing-scope concurrent-start start-empty-audience progress-rounding
progress-zero-target progress-after-cancel all-sends-failed failed-trigger counter-consistency
counter-granularity common-vars-extra-keys common-vars-type common-vars-empty common-vars-content
optional-var-omitted automatic-var-missing placeholder-not-declared provider-status-values
provider-status-internal provider-status-transitions isOfficial-derivation unapproved-template
template-changed-after-create template-item-types template-several-items campaign-message-shape
last-message-at-moves internal-on-chatapp window-simulation size-limit-values size-limit-boundary
size-limit-base size-limit-when audience-off-channel group-chats-in-audience duplicate-contacts
preview-vs-target throughput-ceilings cadence-above-ceiling pacing sender-entrypoint execution-not-found-code
executions-order subscription-lapses-midrun draft-editing disconnected-entrypoint-midrun filter-error-split
filters-empty-list group-no-statements group-no-combinator nested-groups filter-count-limits
platform-value-unknown platform-text-operators chat-status-values id-value-existence missing-value-negative-ops
missing-value-positive-ops exists-meaning exists-with-value case-sensitivity accent-and-space
value-type-mismatch missing-operand null-operand in-shape tags-empty-operand tags-on-untagged between-bounds
between-reversed between-no-value2 value2-elsewhere date-offset date-only-and-naive date-format date-equality birthdate-zone
group-chat-dm-fields numbers-odd estimated-count-exactness filter-schema-shape filter-schema-drift
media-max-files media-max-size media-missing-type media-text-content media-file-name media-size-unit media-mime-list media-type-source media-partial-failure
media-failed-item-shape media-result-order media-empty-part media-wrong-field-or-boundary media-part-bounds media-check-order
media-request-limit media-id-life media-url-life audio-single-rule message-required-fields
message-absent-vs-null message-type-values message-status-values message-page-params next-cursor-end short-pages
cursor-invalid page-stability forward-date-unit sender-of-own-messages entrypoint-platforms
entrypoint-two-shapes funnel-null coexistence-flag-elsewhere entrypoint-visible-when form-id-kind form-unknown
origins-empty session-unknown-code session-other-tenant session-read-fields reason-when-none
entrypoint-when-failed body-missing funnelId-alone funnel-checked-when return-url-rules return-url-spelling return-on-failure
return-url-scheme simulate-panel wh-timestamp return-query link-consumed-when link-after-use user-cancels expiry-boundary expiry-driver flow-open-at-deadline
sessions-in-parallel same-number-again phone-numbers completion-check-order two-sessions-one-number state-vs-event-order event-before-202-read
session-retention url-shape removed-entrypoint-of-session coexistence-failures wh-signature wh-clock wh-body-bytes wh-retry wh-timeout
wh-success wh-410-and-429 wh-idempotency wh-duplicates wh-order wh-no-endpoint wh-several-endpoints wh-disable
wh-data-asymmetry wh-unknown-kind wh-latency wh-secret-rotation wh-secret-form wh-inactive-tenant wh-http-target
undocumented-endpoints orphan-codes code-to-endpoint-map chat-fields form-fields lead-limit
""",
)

LEGAL_NUMBERS = [
    ("rate-limit-numbers", "off"),
    ("rate-limit-numbers", {"requests": 10, "per": 1.5}),
    ("rate-limit-numbers", {"requests": 10, "per": "1h30m"}),
    ("rate-limit-numbers", {"requests": 10, "per": "3500ms"}),
    ("rate-limit-numbers", {"per": 10}),
    ("size-limit-values", {"chatapp": None}),
    ("size-limit-values", {"chatapp": 0}),
    ("throughput-ceilings", {"chatapp_coexistence": 1}),
    ("media-max-files", 1),
    ("media-max-size", {"sticker": 1, "image": 10**12}),
    ("wh-secret-rotation", "1h30m"),
    ("wh-secret-rotation", 0.5),
]

WRONG_NUMBERS = [
    ("rate-limit-numbers", "of", "'off'"),
    ("rate-limit-numbers", 60, "a mapping of requests, per"),
    ("rate-limit-numbers", {"request": 10}, "did you mean 'requests'?"),
    ("rate-limit-numbers", {"requests": 0}, "at least 1"),
    ("rate-limit-numbers", {"requests": True}, "got requests: True"),
    ("rate-limit-numbers", {"per": "soon"}, "a duration like '60s'"),
    ("rate-limit-numbers", {"per": ""}, "a duration like '60s'"),
    ("rate-limit-numbers", {"per": "0s"}, "a duration like '60s'"),
    ("rate-limit-numbers", {"per": float("inf")}, "seconds above 0"),
    ("size-limit-values", {"chatap": 5}, "did you mean 'chatapp'?"),
    ("size-limit-values", {"chatapp_coexistence": 5}, "expected chatapp, chatapp_lite, photoapp"),
    ("size-limit-values", {"chatapp": -1}, "or null for no limit"),
    ("throughput-ceilings", {"photoapp": 0}, "at least 1"),
    ("throughput-ceilings", 80, "a mapping of chatapp"),
    ("media-max-files", 0, "at least 1"),
    ("media-max-files", "10", "a whole number"),
    ("media-max-size", {"image": None}, "a whole number"),
    ("media-max-size", {"images": 1}, "did you mean 'image'?"),
    ("media-max-size", {7: 1}, "got the key 7"),
    ("wh-secret-rotation", "one-dy", "did you mean 'one-day'?"),
    ("wh-secret-rotation", "0s", "expected one of one-day, none, until-next, or seconds above 0"),
    ("wh-secret-rotation", {"per": 5}, "or a duration like '60s'"),
    ("wh-secret-rotation", None, "got None"),
]


def test_every_open_point_is_a_choice_or_fixed_and_nothing_else_is() -> None:
    assert sorted(OPEN_POINTS) == sorted([*CHOICES, *FIXED])


def test_an_id_has_one_row() -> None:
    rows = [row.id for family in FAMILIES for row in (*family.CHOICES, *family.FIXED)]

    assert len(set(rows)) == len(rows)


def test_a_choice_is_a_question_with_distinct_options_and_a_reason() -> None:
    rows = CHOICES.values()

    assert [] == [row.id for row in rows if not row.question.endswith("?")]
    assert [] == [row.id for row in rows if not row.why.endswith(".")]
    assert [] == [row.id for row in rows if not row.where.startswith("L")]
    assert [] == [row.id for row in rows if len(set(row.options)) != len(row.options)]
    assert [] == [row.id for row in rows if not row.value and len(row.options) < 2]
    assert [] == [row.id for row in rows if row.provenance not in {"documented", "inferred", "invented"}]


def test_the_first_option_is_the_default() -> None:
    assert [] == [row.id for row in CHOICES.values() if not row.value and row.options[0] != row.default]


def test_a_row_explains_only_options_that_it_has() -> None:
    explained = [(row.id, option) for row in CHOICES.values() for option in row.means]

    assert [] == [pair for pair in explained if pair not in NAMED]
    assert [] == [(row.id, text) for row in CHOICES.values() for text in row.means.values() if text.endswith(".")]


def test_every_default_is_legal() -> None:
    assert {} == {id: refusal for id, value in DEFAULTS.items() if (refusal := problem(id, value))}


def test_every_option_is_legal() -> None:
    assert [] == [refusal for id, option in NAMED if (refusal := problem(id, option))]


def test_an_unknown_option_is_refused_with_the_closest_match() -> None:
    refusals = [(id, f"{option}x", problem(id, f"{option}x") or "") for id, option in NAMED]

    assert [] == [each for each in refusals if f"got {each[1]!r}" not in each[2]]
    assert [] == [
        (id, typo, refusal)
        for id, typo, refusal in refusals
        if not refusal.endswith(f"did you mean {get_close_matches(typo, CHOICES[id].options, n=1)[0]!r}?")
    ]


def test_an_unknown_id_is_refused_with_the_closest_match() -> None:
    refusals = {id: problem(f"{id}x", "any") for id in CHOICES}

    assert {id: f"got the choice '{id}x'; expected the id of one; did you mean {id!r}?" for id in CHOICES} == refusals


def test_a_fixed_point_is_not_a_choice_and_the_refusal_contains_its_value() -> None:
    assert problem("public-key-prefix", "pub_") == "'public-key-prefix' is not a choice: it is fixed as 'pk_'"


def test_the_option_called_null_is_a_word_in_quotes() -> None:
    assert (problem("next-cursor-end", None) or "").endswith("(the word 'null' in quotes); did you mean 'null'?")


def test_numbers_within_their_bounds_are_legal() -> None:
    assert [] == [refusal for id, value in LEGAL_NUMBERS if (refusal := problem(id, value))]


def test_a_wrong_number_is_refused_with_the_expectation() -> None:
    refusals = [(id, value, problem(id, value) or "", words) for id, value, words in WRONG_NUMBERS]

    assert [] == [each for each in refusals if f"choice {each[0]!r}" not in each[2] or each[3] not in each[2]]


def test_omitted_keys_retain_their_values() -> None:
    old = {"chatapp": 5, "chatapp_lite": None, "photoapp": 7}

    new = merged("size-limit-values", old, {"photoapp": None})

    assert new == {"chatapp": 5, "chatapp_lite": None, "photoapp": None}
    assert old == {"chatapp": 5, "chatapp_lite": None, "photoapp": 7}


def test_a_rate_that_was_off_takes_the_default_for_omitted_numbers() -> None:
    assert merged("rate-limit-numbers", "off", {"requests": 3}) == {"requests": 3, "per": 60}


def test_a_rate_can_be_switched_off() -> None:
    assert merged("rate-limit-numbers", {"requests": 3, "per": 60}, "off") == "off"


@pytest.mark.parametrize(("id", "old", "new"), [("dual-status", "catalog", "guide"), ("media-max-files", 10, 3)])
def test_what_has_no_keys_is_replaced_whole(id: str, old: str | int, new: str | int) -> None:
    assert new == merged(id, old, new)


# A source without any of these words has no claim: it needs no closer reading.
NAMES_OF_CLAIMS = re.compile(r"\b(option|option_case|each_option|in_force)\b")


def claims(source: str) -> Iterator[tuple[str, str]]:
    """Yield each (choice, option) that a test module claims, in words, with an option mark or tests.harness.options."""
    for node in ast.walk(ast.parse(source)) if NAMES_OF_CLAIMS.search(source) else ():
        match node:
            case ast.Call(args=[_, ast.Constant(str(choice)), ast.Dict(keys=options)]) if _is_claim(
                node, "each_option"
            ):
                yield from ((choice, ast.literal_eval(option)) for option in options if option)
            case ast.Call(args=[ast.Constant(str(choice)), ast.Constant(str(option)), *_]) if _is_claim(
                node, "option", "option_case", "in_force"
            ):
                yield choice, option


def _is_claim(call: ast.Call, *names: str) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] in names


@cache
def claimed() -> dict[tuple[str, str], Path]:
    return {pair: path for path in TESTS.rglob("*.py") for pair in claims(path.read_text(encoding="utf-8"))}


def test_a_test_claims_only_options_that_there_are() -> None:
    unknown = {
        f"{path.relative_to(TESTS)}: {id}: {option}"
        for (id, option), path in claimed().items()
        if not _is_there(id, option)
    }

    assert set() == unknown


def _is_there(id: str, option: str) -> bool:
    if id in EFFECTS:
        return option == "effect"
    return id in CHOICES and (option in CHOICES[id].options or bool(CHOICES[id].value))


def test_every_row_that_is_reached_by_an_effect_has_a_test() -> None:
    missing = [id for id in EFFECTS if (id, "effect") not in claimed()]

    assert missing == [], f"mark a test with option({missing[:1]}, 'effect')"


def test_every_option_has_a_test() -> None:
    claims_made = claimed()

    missing = [f"{id}: {option}" for id, option in NAMED if (id, option) not in claims_made]

    assert missing == [], "options without a test:\n" + "\n".join(missing)


def section(heading: str) -> str:
    """The part of the page under this heading, down to the next one."""
    return choices_page().partition(f"{heading}\n")[2].partition("\n#")[0]


def test_every_choice_is_in_the_table_by_operation() -> None:
    table = section("## By operation")

    assert [] == [id for id in CHOICES if f"[{id}](#{id.lower()})" not in table]
