"""
The generated pages of the documentation: `docs/choices.md`, `docs/conduct.md` and `docs/scenarios.md`.

Each page has an introduction, which is here, and tables of the contract, of the rules of conduct or of the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from mockserver._data import data_dir
from mockserver.conduct.judge import JUDGES
from mockserver.conduct.rules import PARTS, RULES
from mockserver.contract.choices import CHOICES, FAMILIES, Choice
from mockserver.contract.choices.profiles import LEFT_OUT, PROFILES
from mockserver.contract.effects import ALIASES, EFFECTS, of_group, schema_properties
from mockserver.scenario import library

VALUE_SHAPES: Final = {
    "rate": "or `{requests, per}`, per in seconds or as a duration such as `60s`",
    "per-platform": "mapping of a platform to messages, null for no limit",
    "count": "whole number",
    "bytes-per-kind": "mapping of a kind of media to bytes",
    "duration": "or seconds, or a duration such as `1h`",
}

_HEAD: Final = """\
# What the API document leaves open

<!-- Written by `mockserver choices --markdown`; a test compares it with the code. Change the tables in `mockserver/contract/choices`. -->

This page lists every point on which the API document is silent, ambiguous or contradictory.
Each is a choice with options, or a fixed decision that holds for every sandbox; [Sweeps and choices](sweeps.md) shows how to test under each option.
`L41` is line 41 of the API document.

A default is documented (it follows from the words of the document), inferred (the rest of the document suggests it) or invented.

Select options by `@pytest.mark.mockserver(choices={...})`, `server.sandbox(choices={...})`, `mockserver serve --choose ID=OPTION`, a scenario's `choices`, or `PATCH /_mock/choices`.
"""

_PROFILES: Final = """\
## Profiles

A profile is a set of options under a name.
`literal` is the default of every choice.
`guide` follows the campaign guide wherever it contradicts the error catalogue.
`hostile` selects, for each choice, the option that surprises a client most and that the document still allows.
A YAML or JSON file `{choices: {id: option}}` is a profile too.

Select one by `@pytest.mark.mockserver(profile="hostile")`, `server.sandbox(profile="hostile")` or `mockserver serve --profile hostile`; choices given with it override it.
"""


def choices_page() -> str:
    """Return the text of `docs/choices.md`: the families in the order of the tables, then the profiles."""
    contents = [
        f"- [{family.FAMILY}](#{family.FAMILY}): {len(family.CHOICES)} choices, {len(family.FIXED)} fixed decisions"
        for family in FAMILIES
    ]
    left_out = _table(("choice", "why"), [f"| `{id}` | {_cell(why)} |" for id, why in LEFT_OUT.items()])
    parts = [_HEAD, *contents, "- [profiles](#profiles)\n", *map(_family, FAMILIES), _PROFILES, _profile_table()]
    return "\n".join([*parts, f"`hostile` leaves these at their defaults:\n\n{left_out}"])


def _family(family: ModuleType) -> str:
    rows = []
    for row in family.FIXED:
        note = f" It {row.note}." if row.note else ""
        effect = " Seed data or a scenario can change it." if row.kind == "effect" else ""
        rows.append(f"| `{row.id}` | {_cell(row.decision)} | {_cell(f'{row.why}{effect}{note}')} |")
    table = _table(("point", "decision", "why"), rows)
    head = f"## {family.FAMILY}\n\n{(family.__doc__ or '').strip()}\n"
    return "\n".join([head, *map(_choice, family.CHOICES), f"### Fixed decisions: {family.FAMILY}\n", table])


def _choice(row: Choice) -> str:
    options = [f"**`{each}`** (default)" if each == row.default else f"`{each}`" for each in row.options]
    if row.value:  # numbers: the default and the shape of other values
        shape = VALUE_SHAPES[row.value]
        options.append(
            shape if row.default in row.options else f"**`{json.dumps(row.default)}`** (default), or another {shape}"
        )
    clauses = f"; {', '.join(f'`{each}`' for each in row.clauses)}" if row.clauses else ""
    meanings = "".join(f"  - `{option}`: {meaning}\n" for option, meaning in row.means.items())
    return (
        f"### `{row.id}`\n\n{row.question}\n\n"
        f"- options: {', '.join(options)}\n"
        f"{meanings}"
        f"- why: {row.why}\n"
        f"- default is {row.provenance}; {row.where}{clauses}\n"
    )


def _profile_table() -> str:
    """Return the table of the choices that a profile sets, with the option of each profile."""
    rows = [
        f"| `{row.id}` | `{row.default}` | {_option_of('guide', row)} | {_option_of('hostile', row)} |"
        for row in CHOICES.values()
        if any(row.id in profile for profile in PROFILES.values())
    ]
    return _table(("choice", "literal", "guide", "hostile"), rows)


def _option_of(profile: str, row: Choice) -> str:
    option = PROFILES[profile].get(row.id, row.default)
    return f"`{option}`" if option != row.default else ""


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_CONDUCT_INTRODUCTION = """\
# Conduct

The conduct report shows where a client ignores the advice of the API document, and a test can fail for it.

```python
def launch(sandbox):  # the client under test: it creates a campaign, starts it, and reads it once
    sandbox.apply(given={"templates": [{"id": "template_hello"}], "chats": {"count": 3}})
    filters = [
        {"combinator": "and", "statements": [{"field": "chat.platform", "operator": "equals", "value": "chatapp"}]}
    ]
    body = {"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60, "filters": filters}
    campaign = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
    sandbox.call("POST", f"/v1/campaigns/{campaign}/start")
    sandbox.call("GET", f"/v1/campaigns/{campaign}")


def test_a_launch_behaves(mockserver):
    launch(mockserver)

    assert not mockserver.conduct  # a report: iterate it, print it, read .of(rule) and .not_assessed
    mockserver.assert_conduct(max_severity=3)  # noise (3) may pass; severity 1 is the worst
```

Each finding cites the calls that prove it.
If a run cannot show whether the client follows a rule, the report lists the rule as not assessed, with the reason.
A report without findings therefore proves nothing about those rules.

`GET /_mock/conduct` returns the same as JSON: `findings` and `notAssessed`.
`mockserver conduct --markdown` writes this page, and a test compares it with the code.

## In pytest

| `@pytest.mark.mockserver(conduct=...)` | effect |
| --- | --- |
| `"report"`, the default | prints findings when the test fails |
| `"error"` | fails the test in its call phase for any finding, unless it has failed already |
| `"off"` | judges nothing |

The ini option `mockserver_conduct` sets this for all tests.
The terminal summary counts the session's findings by rule, under xdist too.
`--mockserver-conduct-json FILE` writes them to a file, and `--mockserver-conduct-html FILE` writes them as a page.

## Under several sets of choices

Some mistakes show only when two runs are compared.

```python
from mockserver.testing.differential import compare


def read_campaigns(sandbox):  # the client under test
    sandbox.call("GET", "/v1/campaigns")


def test_no_open_point_decides(mockserver_server):
    compare(mockserver_server, read_campaigns).assert_same()
```

`compare` runs the client with the default choices, then under each option that breaks a careless client, and compares its calls: method, route, and body without ids and instants.
`compare(server, client, ["guide", "hostile", {"success-status": "rest"}])` takes profiles, files and sets of choices instead.
It tries each choice of a profile alone, so that the report names a single one.
Further arguments are settings of the sandboxes, such as `given={...}`.

## Time

Intervals are measured on the sandbox's clock if something moved it, however little, and in real time if at least a second passed between two calls; the longer one counts.
If a test patches the client's sleeps out, no interval can be seen, and the client's polls and its waits after a 429 are not assessed.
Let the client sleep on the sandbox's clock instead: `monkeypatch.setattr(time, "sleep", mockserver.sleep)`.

A date in a `Retry-After` is of the sandbox's clock, like the `Date` of each response, while most clients subtract their own clock from it.
A client obeys the date if it waits until then by either clock, to the second, since an HTTP date has no fractions.
If the clock of the process has passed the date when the 429 is sent, as it has for a sandbox in the past, the date is not assessed: freeze both clocks at one instant, or let the sandbox follow.

A receiver that has the sandbox's clock rightly refuses a request that the process's clock has signed at another time, and looks like one that misreads its secret.
The rules on receivers do not assess such refusals, and name the choice [`wh-timestamp`](choices.md#wh-timestamp) as the reason.

## What is not a finding

- One read after the end, or after an event that reports the end.
- Reads of several workers, which differ by their user agent.
- HEAD and OPTIONS.
- A call that a client repeats more than five minutes later.
- A session or an upload that a client sends again after a failure, since there is nothing to read first.
- A create that a client sends again after a failure, if the first one had no effect, or if the client looks for the campaign when its name is taken.
- Node's fetch, which sends Sec-Fetch-Mode from a server.

If a rule delays a response, the client receives it when it is sent.
A client that repeats the call earlier has not received it yet.

## What a transport repeats

Some HTTP libraries repeat a request by themselves if its connection was in use before and ends without a byte, because the server may have closed an idle connection.
A `drop` or `reset` on such a connection is then hidden from the client, and the service gets the call twice.

| transport | repeats by itself |
| --- | --- |
| curl and what is built on it, such as PHP's Guzzle; browsers; Java's `HttpURLConnection` | any call, also a POST |
| Go's `net/http`, Java's `HttpClient`, Ruby's `Net::HTTP` | GET and what else is idempotent, no POST |
| Python's and Node's | nothing, unless a retry policy says so |

The rules `duplicate-start` and `blind-post-retry` excuse one repetition of a POST by a transport of the first row, which they know by its User-Agent: over a socket, on a connection in use before, with the same bytes and headers, and as the next call.
For any other client the finding adds "repeated below your code, by its HTTP library, if your code repeats nothing": look for the retry policy of that library, as of axios-retry, or of urllib3 under another User-Agent.
To let a client that repeats see the `drop`, give it a new connection for each call: `curl -H "Connection: close"`, or one curl process per call.

## The rules

Severity 1 is for money, spam and security, 2 for wrong state, 3 for noise.
The column "sources" shows what can prove a violation: the journal (J), the responses of a webhook receiver (W), visits to the hosted page (P), two compared runs (D), or the client's own test (H).
The mock judges by the sources that it has; what remains is for the client's own test.
The column "clause" names the sentence of the API document, and `L300` is its line 300.
"""


def conduct_page() -> str:
    """Return the text of `docs/conduct.md`."""
    lines = [_CONDUCT_INTRODUCTION]
    for title, part in PARTS.items():
        cells = (
            (
                f"`{row.id}`",
                str(row.severity),
                " ".join(row.sources),
                row.proof,
                f"`{row.clause}`, {row.line}",
                row.advice,
            )
            for row in part
        )
        head = ("rule", "severity", "sources", "proof", "clause", "advice")
        lines += [f"### {title}\n", _table(head, [f"| {' | '.join(map(_cell, row))} |" for row in cells])]
    others = [row for row in RULES.values() if row.id not in JUDGES]
    compared = [f"`{row.id}`" for row in others if "D" in row.sources and "H" not in row.sources]
    alone = [f"`{row.id}`" for row in others if "H" in row.sources and row.id != "wrong-reader-of-404"]
    lines += [
        "### Rules that one run cannot prove\n",
        f"Only a comparison of two runs shows these: {', '.join(compared)}, and in part `wrong-reader-of-404`.",
        f"Only the client's own test shows these: {', '.join(alone)}.\n",
    ]
    return "\n".join(lines)


def rows() -> list[dict[str, Any]]:
    """Return the rules as JSON values."""
    return [row._asdict() for row in RULES.values()]


def line(row: Mapping[str, Any]) -> str:
    """Return a rule as one line of a list."""
    return f"{row['severity']}  {row['id']:<28}{row['proof']}"


_SCENARIOS_INTRODUCTION = """\
# Scenarios

A scenario is a document that says how a sandbox begins and what happens to it.
It contains seed data (the records at the beginning), choices, a clock, and a script of rules; Python and any other language can use it.

```yaml
scenario: my-bad-day
summary: The response to a start is lost, then the campaign fails, then the subscription is suspended.
given:
  templates: [{id: template_promo, name: Promo}]
  chats: {count: 50}
script:
  - on: startCampaign          # an operation id, "METHOD /path", "*", or "delivery"
    nth: 1
    do: {drop: after}
  - at: 5m                     # on the sandbox's clock, from when the scenario is applied
    do: {set-tenant: {subscription: suspended}}
  - after: {sent: 40}          # when an execution has sent forty messages
    do: {fail-campaign: {}}
```

`mockserver play NAME|FILE` serves it, lists the ids of its seed data, and prints what happens; `mockserver scenarios NAME|FILE` lists the ids without a server.
`mockserver scenarios --markdown` writes this page, and a test compares it with the code.

## Three forms

A scenario is a YAML 1.2 file, a dict in Python (`sandbox.apply({...})`), or JSON over the control plane (`POST /_mock/scenarios`).
`schemas/scenario.json` defines it, so that an editor completes and checks it.

In Python, parts of a document are keyword arguments, `sandbox.apply(given={...})`, and methods build the same rules: `sandbox.on("startCampaign").nth(1).drop("after")`.
Each condition and effect is a method of the same name, with the same arguments in snake case: `fail-media` is `.fail_media(names=[...])`, and `retryAfter` is `retry_after=`.
For `from` and `while`, which are keywords of Python, write `.from_(...)` and `.while_(...)`.
[Faults](faults.md) shows rules in Python at work.

An invalid document is refused as a whole, and changes nothing.
The refusal lists every problem in the order of the document: the place (in a file with line and column), what was received, what was expected, and the nearest valid name.
[Limits](reference/limits.md#limits-of-one-call-or-sandbox) names the deepest nesting and the largest aliases; an alias inside the value that it refers to is refused too.

## Campaigns with a past

Seed data may contain drafts, campaigns that are running, and campaigns that have ended, so a test need not run them.

```yaml
given:
  templates: [{id: template_promo}]
  chats: {count: 50}
  campaigns:
    - {id: campaign_draft}                                                        # a draft to start
    - {id: campaign_running, status: processing, executionId: execution_running}  # since now, or since `startedAt`
    - {id: campaign_done, status: completed, completedAt: "2026-03-01T11:00:00Z"}
    - {id: campaign_cut, status: canceled, startedAt: "2026-03-01T10:00:00Z", completedAt: "2026-03-01T10:00:20Z"}
```

Sends, counts, progress and messages follow from the start, the audience and the cadence, as if the API had run the campaign.
Seed data is refused if a creation or a start would refuse it.
It is also refused if its state contradicts the sends: `completed` before the last of them, or `processing` after it.

## When a rule fires

A rule counts every call since it was applied that matches its `on`, `where` and `while`; refused calls count too.
These conditions then apply, in this order:

1. `skip: n` skips the first n of these calls.
2. `nth: n` selects the nth of the rest, and `every: n` each nth.
3. `from` and `until` limit the time.
4. `chance` is the probability that a remaining call fires the rule. Its outcome follows from the sandbox's seed alone.
5. `times: n` ends the rule after n firings.

`where` compares values by path: `path.id`, `query.limit`, `header.x` or `body.name` of a call, `event` and `attempt` of a delivery.
A value must be equal, unless the condition is a text that begins with `>=`, `<=`, `>`, `<`, `!=` or `~` (contains).
`while` checks the state of the record that the call concerns, or of any record: `campaign`, `sent`, `failed`, `target`, `session`, `subscription`.

If several rules fire on one call, the first in order decides what the client receives.
All their effects on the state are applied: after the operation and before its response is sent, or before the operation with `when: before`.

`GET /_mock/rules` and `sandbox.rules` show how often each rule matched and fired, in `did` its newest effects on the state with the sends that then fail, and in `noTarget` why an effect had nothing to act on.
The report of a failing test lists the rules that never fired.
A rule with `mustFire: true` that never fired fails its test.

## What a rule acts on

An effect acts on the record of its `id`.
Without one it acts on the record that the call concerns, and if there is none on every processing campaign or every pending session.
Likewise the tenant is the effect's `tenant`, else that of the call, else the default one.

## Waiting

Over a socket a delay takes real time, holds no lock and moves no frozen clock.
In process nothing sleeps: a delay moves the sandbox's clock.
If the delay is longer than the client's own timeout, the client library's exception is raised immediately and the clock moves by the timeout; the call itself still arrives at its own time.
A reset, close or restore ends the wait of every delayed call immediately.
"""


def scenarios_page() -> str:
    """Return the text of `docs/scenarios.md`."""
    library_rows = [
        f"| [{name}](../scenarios/{name}.yaml) | {library.document(name).get('summary', '')} |"
        for name in library.paths()
    ]
    count = f"{len(library_rows)} documents in `scenarios/`; `mockserver scenarios` lists them.\n"
    parts = [*_effects(), "## The library\n", count, _table(("scenario", "summary"), library_rows)]
    return "\n".join([_SCENARIOS_INTRODUCTION, *parts])


def scenario_schema() -> str:
    """Return the text of `schemas/scenario.json`, with the effects as their rows in `contract/effects.py` define them."""
    schema = json.loads((data_dir("schemas") / "scenario.json").read_text(encoding="utf-8"))
    effects = schema["$defs"]["effects"]
    properties = effects["properties"] | dict(schema_properties())
    first = [*of_group("wire"), *of_group("state"), *of_group("delivery"), *ALIASES]
    effects = effects | {"properties": {name: properties[name] for name in first}}
    return (
        json.dumps(
            schema | {"$defs": schema["$defs"] | {"effects": effects}}, indent=2, ensure_ascii=False, default=dict
        )
        + "\n"
    )


def _effects() -> Iterator[str]:
    groups = (
        ("wire", "on the wire", "These change what the client receives, and when."),
        (
            "state",
            "on the state",
            "These change the service itself: records, keys, settings, choices, time.",
        ),
        ("delivery", "on deliveries", "This changes what a receiver of webhooks gets."),
    )
    for group, title, sentence in groups:
        yield f"## Effects {title}\n"
        yield f"{sentence}\n"
        yield "| effect | argument | meaning |"
        yield "| --- | --- | --- |"
        for name in of_group(group):
            row = EFFECTS[name]
            yield f"| `{name}` | `{row.argument.replace('|', chr(92) + '|')}` | {row.meaning} |"
        yield ""
    names = "; ".join(f"`{alias}` is `{effect}`" for alias, (effect, _) in ALIASES.items())
    yield f"Other names: {names}.\n"
