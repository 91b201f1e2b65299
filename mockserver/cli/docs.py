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
from mockserver.conduct.rules import PARTS, RULES, ConductRule
from mockserver.contract.choices import CHOICES, FAMILIES, Choice, Fixed
from mockserver.contract.choices.profiles import LEFT_OUT, PROFILES
from mockserver.contract.effects import ALIASES, EFFECTS, of_group, schema_properties
from mockserver.scenario import library

VALUE_SHAPES: Final = {
    "rate": "or `{requests, per}`, per in seconds or as a duration such as `60s`",
    "per-platform": "mapping of a platform to messages, null for no limit",
    "count": "whole number",
    "bytes-per-kind": "mapping of a kind of media to bytes",
}

_HEAD: Final = """\
# What the API document leaves open

<!-- Written by `mockserver choices --markdown`; a test compares it with the code. Change the tables in `mockserver/contract/choices`. -->

After this page you know each point that the API document leaves open, on which it contradicts itself, or that it only implies.
Each is a choice with options, or a decision that is the same for every sandbox; [Sweeps and choices](sweeps.md) shows how to test under each option.
`L41` is line 41 of the API document.

A default is documented (it follows from the words of the document), inferred (the rest of the document suggests it) or invented.

Select options by `@pytest.mark.mockserver(choices={...})`, `server.sandbox(choices={...})`, `mockserver serve --choose ID=OPTION`, a scenario's `choices`, or `PATCH /_mock/choices`.
"""

_PROFILES: Final = """\
## Profiles

A profile is a bundle of options under a name.
`literal` is the default of every choice.
`guide` follows the campaign guide on the points on which it contradicts the error catalogue.
`hostile` has, for each choice, the option that surprises a client most and that the document still allows.
A YAML or JSON file `{choices: {id: option}}` is a profile too.

Select one by `@pytest.mark.mockserver(profile="hostile")`, `server.sandbox(profile="hostile")` or `mockserver serve --profile hostile`; choices given with it override it.
"""


def choices_page() -> str:
    """Return the text of `docs/choices.md`: the families in the order of the tables, then the profiles."""
    parts = [_HEAD, _contents(), *map(_family, FAMILIES), _PROFILES, _profile_table(), _left_out()]
    return "\n".join(parts)


def _contents() -> str:
    rows = [
        f"- [{family.FAMILY}](#{family.FAMILY}): {len(family.CHOICES)} choices, {len(family.FIXED)} fixed decisions"
        for family in FAMILIES
    ]
    return "\n".join([*rows, "- [profiles](#profiles)", ""])


def _family(family: ModuleType) -> str:
    rows = [f"| `{row.id}` | {_cell(row.decision)} | {_fixed_why(row)} |" for row in family.FIXED]
    table = _table(("point", "decision", "why"), rows)
    head = f"## {family.FAMILY}\n\n{(family.__doc__ or '').strip()}\n"
    return "\n".join([head, *map(_choice, family.CHOICES), f"### Fixed decisions: {family.FAMILY}\n", table])


def _choice(row: Choice) -> str:
    clauses = f"; {', '.join(f'`{each}`' for each in row.clauses)}" if row.clauses else ""
    return (
        f"### `{row.id}`\n\n{row.question}\n\n"
        f"- options: {_options(row)}\n"
        f"- why: {row.why}\n"
        f"- default is {row.provenance}; {row.where}{clauses}\n"
    )


def _options(row: Choice) -> str:
    """Return the options with the default marked; for a choice with numbers, the default and the shape of other values."""
    options = [f"**`{each}`** (default)" if each == row.default else f"`{each}`" for each in row.options]
    if row.value:
        shape = VALUE_SHAPES[row.value]
        options.append(
            shape if row.default in row.options else f"**`{json.dumps(row.default)}`** (default), or another {shape}"
        )
    return ", ".join(options)


def _fixed_why(row: Fixed) -> str:
    note = f" It {row.note}." if row.note else ""
    effect = " Seed data or a scenario can change it." if row.kind == "effect" else ""
    return _cell(f"{row.why}{effect}{note}")


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


def _left_out() -> str:
    rows = [f"| `{id}` | {_cell(why)} |" for id, why in LEFT_OUT.items()]
    return "`hostile` leaves these at their defaults:\n\n" + _table(("choice", "why"), rows)


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_CONDUCT_INTRODUCTION = """\
# Conduct

After this page you can find out where a client ignores the advice of the API document, and let a test fail for it.

The conduct report contains only what it can prove: each finding cites the exchanges that prove it, and each rule that the run cannot show is listed as not assessed, with the reason.
A report without findings therefore proves nothing about the rules in that list.

This page is written by `mockserver conduct --markdown`; a test compares it with the code.

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

`GET /_mock/conduct` returns the same as JSON: `findings` and `notAssessed`.

## In pytest

`@pytest.mark.mockserver(conduct="error")` fails the test in its call phase for any finding, unless it has failed already; `"report"` prints findings with a failure; `"off"` judges nothing.
The ini option `mockserver_conduct` sets it for all tests; the default is `report`.
The terminal summary counts findings by rule over the session, under xdist too, and `--mockserver-conduct-json FILE` writes them to a file, `--mockserver-conduct-html FILE` as a page.

## Under several sets of choices

Some rules need two runs, which are compared.

```python
from mockserver.testing.differential import compare


def read_campaigns(sandbox):  # the client under test
    sandbox.call("GET", "/v1/campaigns")


def test_no_open_point_decides(mockserver_server):
    compare(mockserver_server, read_campaigns).assert_same()
```

`compare` runs the client with the default choices, then under each option that breaks a careless client, and compares its calls: method, route, and body without ids and instants.
`compare(server, client, ["guide", "hostile", {"success-status": "rest"}])` takes profiles, files and sets of choices instead; under a whole profile each of its choices is tried alone, so that the report names a single one.
Settings of the sandboxes, such as `given={...}`, are further arguments.

## Time

Intervals are measured on the sandbox's clock if something moved it, and otherwise in real time if at least a second passed between two calls.
A client whose sleeps are patched out shows no interval: its polls and its waits after a 429 are then not assessed.
Let it sleep on the sandbox's clock: `monkeypatch.setattr(time, "sleep", mockserver.sleep)`.

## What is not a finding

- One read after the end, also after an event.
- Reads of several workers, which differ by their user agent.
- HEAD and OPTIONS.
- A call that a client repeats more than five minutes later.
- A session or an upload that is sent again after a failure, since there is nothing to read first.
- Node's fetch, which sends Sec-Fetch-Mode from a server.

A response that a rule delays is received when it is sent, so a client that repeats its call before has not received it.

## What a transport repeats

curl, browsers and some HTTP libraries repeat a request by themselves if its connection was in use before and ends without a byte: the server may have closed it while it was idle.
They repeat a POST too, so a `drop` or `reset` on such a connection is hidden from the client, and the service gets the call twice.
That repetition is excused from `duplicate-start` and `blind-post-retry`: over a socket, on a connection in use before, once, with the same bytes and headers within 50 milliseconds.
If the User-Agent is that of requests, httpx, urllib3, urllib or aiohttp nothing is excused, since these libraries do not repeat a POST by themselves; in process nothing is excused either.
To let such a client see the `drop`, give it a new connection for each call: `curl -H "Connection: close"`, or one curl process per call.

## The rules

Severity is 1 for money, spam and security, 2 for wrong state, 3 for noise.
The sources of proof are the journal (J), the responses of a webhook receiver (W), visits to the hosted page (P), two compared runs (D), and the client's own test (H).
Of a rule with several sources the mock judges those that it has; the rest is for the client's own test.
`L300` is line 300 of the API document.
"""


def conduct_page() -> str:
    """Return the text of `docs/conduct.md`."""
    return "\n".join([_CONDUCT_INTRODUCTION, *_tables(), *_not_assessable()])


def rows() -> list[dict[str, Any]]:
    """Return the rules as JSON values."""
    return [row._asdict() for row in RULES.values()]


def line(row: Mapping[str, Any]) -> str:
    """Return a rule as one line of a list."""
    return f"{row['severity']}  {row['id']:<28}{row['proof']}"


def _tables() -> Iterator[str]:
    for title, rows in PARTS.items():
        yield f"### {title}\n"
        yield "| rule | severity | sources | proof | clause | advice |"
        yield "| --- | --- | --- | --- | --- | --- |"
        yield from map(_row, rows)
        yield ""


def _row(row: ConductRule) -> str:
    cells = (
        f"`{row.id}`",
        str(row.severity),
        " ".join(row.sources),
        row.proof,
        f"`{row.clause}`, {row.line}",
        row.advice,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _not_assessable() -> Iterator[str]:
    others = [row for row in RULES.values() if row.id not in JUDGES]
    compared = [f"`{row.id}`" for row in others if "D" in row.sources and "H" not in row.sources]
    yield "### Rules that one run cannot prove\n"
    yield f"Judged by comparing runs: {', '.join(compared)}; partly `wrong-reader-of-404`."
    alone = [f"`{row.id}`" for row in others if "H" in row.sources and row.id != "wrong-reader-of-404"]
    yield f"Judged by the client's own test alone: {', '.join(alone)}.\n"


_SCENARIOS_INTRODUCTION = """\
# Scenarios

After this page you can write seed data and scripts as documents, for Python and any other language, and use the documents of the library.

A scenario is a document with seed data, choices, a clock and a script of rules.
It is a YAML 1.2 file, a dict in Python (`sandbox.apply({...})`) or JSON over the control plane (`POST /_mock/scenarios`); `schemas/scenario.json` defines it, so that an editor completes and checks it.
An invalid document is refused as a whole, with every problem in the order of the document: the place (in a file with line and column), what was received, what was expected, and the nearest valid name.
Nesting deeper than 72 levels, an alias inside the value that it refers to, and aliases that expand to more than 100,000 values are refused too: these are the mock's own bounds.

This page is written by `mockserver scenarios --markdown`; a test compares it with the code.

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

`mockserver play NAME|FILE` serves it, lists the ids of its seed data, and prints what happens; `mockserver scenarios NAME|FILE` lists them without a server.
In Python the same rules are built by methods: `sandbox.on("startCampaign").nth(1).drop("after")`.
Each condition and each effect is a method of the same name, with the same arguments in snake case: `fail-media` is `.fail_media(names=[...])`, `retryAfter` is `retry_after=`, and `from` and `while`, which are keywords of Python, are `.from_(...)` and `.while_(...)`.
Parts of a document are keyword arguments: `sandbox.apply(given={...})`.
[Faults](faults.md) shows rules in Python at work.

## Campaigns with a past

Seed data may contain drafts, campaigns that are running, and campaigns that have ended, so that a test need not run them.

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
Seed data is refused if a creation or a start would refuse it, or if its state contradicts the sends: `completed` before the last of them, or `processing` after it.

## When a rule fires

A rule counts every call that matches its `on`, `where` and `while` since it was applied, refused calls too.
Of these calls `skip: n` skips the first n, `nth: n` selects the nth of the rest, and `every: n` each nth of the rest; `from` and `until` limit the time, `chance` is the probability that a remaining call fires the rule, and `times: n` ends the rule after n firings; they combine in that order.
`where` compares values by path (`path.id`, `query.limit`, `header.x`, `body.name`; of a delivery `event` and `attempt`): equal, or a text that begins with `>=`, `<=`, `>`, `<`, `!=` or `~` (contains).
`while` checks the state (`campaign`, `sent`, `failed`, `target`, `session`, `subscription`) of the record that the call concerns, or of any record.
If several rules fire on one call, the first in order decides the effects on the wire, and the effects of all of them on the state are applied: after the operation and before its response is sent, or with `when: before` before it.
The outcome of `chance` follows from the sandbox's seed alone.
`GET /_mock/rules` and `sandbox.rules` show how often each matched and fired, and in `noTarget` why an effect had nothing to act on; a failing test's report lists the rules that never fired, and a rule with `mustFire: true` that never fired fails its test.

## What a rule acts on

An effect acts on the record of its `id`, else on the record that the triggering call concerns, else on every processing campaign or every pending session; and on its `tenant`, else on the call's tenant, else on the default one.

## Waiting

On a socket a delay is real, holds no lock and moves no frozen clock.
In process nothing sleeps: a delay moves the sandbox's clock, and one beyond the client's own timeout raises that client library's exception immediately and moves the clock by the timeout; the call itself still arrives at its own time.
Reset, close and restore end the wait of every deferred call immediately.
"""


def scenarios_page() -> str:
    """Return the text of `docs/scenarios.md`."""
    return "\n".join([_SCENARIOS_INTRODUCTION, *_effects(), *_library()]) + "\n"


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
    for group, title in (("wire", "on the wire"), ("state", "on the state"), ("delivery", "on deliveries")):
        yield f"## Effects {title}\n"
        yield "| effect | argument | meaning |"
        yield "| --- | --- | --- |"
        for name in of_group(group):
            row = EFFECTS[name]
            yield f"| `{name}` | `{row.argument.replace('|', chr(92) + '|')}` | {row.meaning} |"
        yield ""
    names = "; ".join(f"`{alias}` is `{effect}`" for alias, (effect, _) in ALIASES.items())
    yield f"Other names: {names}.\n"


def _library() -> Iterator[str]:
    names = library.paths()
    yield "## The library\n"
    yield f"{len(names)} documents in `scenarios/`; `mockserver scenarios` lists them.\n"
    yield "| scenario | summary |"
    yield "| --- | --- |"
    for name in names:
        yield f"| [{name}](../scenarios/{name}.yaml) | {library.document(name).get('summary', '')} |"
