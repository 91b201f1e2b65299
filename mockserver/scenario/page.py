"""The page of the documentation on scenarios: how one is written, every effect, and the library."""

from __future__ import annotations

from collections.abc import Iterator

from mockserver.contract.effects import ALIASES, EFFECTS, of_group
from mockserver.scenario import library

_INTRODUCTION = """\
# Scenarios

A scenario is a document of seed data, choices, clock and script.
It is a YAML 1.2 file, a dict in Python (`sandbox.apply({...})`) or JSON over the control plane (`POST /_mock/scenarios`); `schemas/scenario.json` defines it, so that an editor completes and checks it.
A document that does not fit is refused whole, with every problem at once, in its own order: the place (of a file with line and column), what is there, what is expected, and the nearest valid name.
Nesting deeper than 72 levels, an alias inside the value that it stands for, and aliases that stand for more than 100,000 values are refused too: these are the mock's own bounds.

This page is written by `mockserver scenarios --markdown`; a test holds it to the code.

```yaml
scenario: my-bad-day
summary: A start's answer is lost, then the campaign fails, then the subscription is suspended.
given:
  templates: [{id: template_promo, name: Promo}]
  chats: {count: 50}
script:
  - on: startCampaign          # an operation id, "METHOD /path", "*", or "delivery"
    nth: 1
    do: {drop: after}
  - at: 5m                     # on the sandbox's clock, from when the scenario is applied
    do: {set-tenant: {subscription: suspended}}
  - after: {sent: 40}          # when an execution has sent that many
    do: {fail-campaign: {}}
```

`mockserver play NAME|FILE` serves it, lists the ids that it seeds, and tells in the terminal what happens; `mockserver scenarios NAME|FILE` lists them without a server.
In Python the same rules are built by methods: `sandbox.on("startCampaign").nth(1).drop("after")`.
Each condition and each effect is a method of the same name, and its arguments are too, in snake case: `fail-media` is `.fail_media(names=[...])`, `retryAfter` is `retry_after=`, and `from` and `while`, which Python keeps for itself, are `.from_(...)` and `.while_(...)`.
The parts of a document go in by keyword: `sandbox.apply(given={...})`.

## Campaigns with a past

Seed data may hold campaigns that a test need not play: drafts, ones that run since an instant, and ones that have ended.

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

Sends, counts, progress and messages follow from the start, the audience and the cadence, as if the campaign had been played.
What a creation or a start would refuse is refused, and so is a state that contradicts the sends: `completed` before the last of them, or `processing` after it.

## When a rule fires

A rule counts every call that matches its `on`, `where` and `while` since it was applied, refused calls too.
Of these `skip: n` leaves the first n alone, `nth: n` takes the nth of the rest, `every: n` each nth of it; `from` and `until` bound the time, `chance` lets each that is left fire or not, `times: n` ends the rule after n firings; they combine in that order.
`where` compares values by path (`path.id`, `query.limit`, `header.x`, `body.name`; of a delivery `event` and `attempt`): equal, or a text that begins with `>=`, `<=`, `>`, `<`, `!=` or `~` (contains).
`while` asks the world: `campaign`, `sent`, `failed`, `target`, `session`, `subscription`, of what the call is about or of anything there is.
Where several rules fire on one call, the first in order owns the wire, and the effects of all of them on the world run: after the operation and before its answer leaves, or with `when: before` before it.
Chances come from the sandbox's seed alone.
`GET /_mock/rules` and `sandbox.rules` tell how often each matched and fired, and what it met nothing of; a failing test's report tells which never fired, and one with `mustFire: true` fails its test.

## What a rule acts on

The `id` given with the effect, else what the triggering call is about, else every campaign that is processing or every session that is pending; the `tenant` given, else the call's, else the default one.

## Waiting

On a socket a delay is real, holds no lock and moves no frozen clock.
In process nothing sleeps: a delay moves the sandbox's clock, and one beyond the client's own timeout raises that client library's exception at once, the clock moved by the timeout; the call itself still arrives when its time has come.
Reset, close and restore let every held call go at once.
"""


def markdown() -> str:
    """The page as it stands in `docs/scenarios.md`."""
    return "\n".join([_INTRODUCTION, *_effects(), *_library()]) + "\n"


def _effects() -> Iterator[str]:
    for group, title in (("wire", "On the wire"), ("world", "On the world"), ("delivery", "On deliveries")):
        yield f"## Effects: {title[0].lower()}{title[1:]}\n"
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
    yield "| scenario | what it shows |"
    yield "| --- | --- |"
    for name in names:
        yield f"| [{name}](../scenarios/{name}.yaml) | {library.document(name).get('summary', '')} |"
