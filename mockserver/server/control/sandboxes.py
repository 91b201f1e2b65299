"""
Commands on a sandbox: clock, choices, tenants, state, checkpoints and journal; and on the host.

A command gets the sandbox, or a snapshot of it, and its arguments as JSON values. It raises ControlError with the fix in the
message if it refuses; then nothing has changed.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.durations import parse_duration
from mockserver.contract.text import closest_match, pointer_keys
from mockserver.core import scheduler
from mockserver.core.instants import SECOND, Instant, format_exact, parse
from mockserver.core.redaction import Redactor
from mockserver.core.state.tenant import Tenant
from mockserver.scenario.choices import merge_choices, set_choices
from mockserver.scenario.documents import Document
from mockserver.scenario.problems import Problems, ScenarioError, WrongPart
from mockserver.server.control import views
from mockserver.server.control.arguments import whole_numbers
from mockserver.server.control.commands import AddressedHost
from mockserver.server.errors import ControlError, refused_document, unknown_id
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, HostedSnapshot, SandboxHost
from mockserver.version import VERSION

if TYPE_CHECKING:
    from mockserver.server.control import answers

Arguments = Mapping[str, Any]


def _instant(value: object, name: str) -> Instant:
    """Return the instant of an argument, an ISO 8601 date-time with its offset."""
    parsed = parse(value) if isinstance(value, str) else None
    if parsed is None or not parsed[1]:
        raise ControlError(
            "MOCK_BAD_INSTANT",
            f"{name}: got {value!r}; expected an ISO 8601 date-time with its offset, such as 2026-03-01T12:00:00Z",
        )
    return parsed[0]


def read_clock(hosted: HostedSandbox, args: Arguments) -> answers.ClockState:
    return views.clock(hosted.sandbox)


def set_clock(hosted: HostedSandbox, args: Arguments) -> answers.ClockState:
    """Freeze at an instant or at the present one, or follow the process's clock."""
    if ("freeze" in args) == ("follow" in args):
        raise ControlError(
            "MOCK_BAD_CLOCK",
            f'got {", ".join(args) or "neither"}; expected one of {{"freeze": instant or true}} and {{"follow": true}}',
        )
    if "freeze" in args and "catchUp" in args:
        raise ControlError(
            "MOCK_BAD_CLOCK", "got catchUp with freeze; expected it with follow, which lets the clock run"
        )
    try:
        if "follow" in args:
            scheduler.follow(hosted.sandbox, catch_up=args.get("catchUp", False))
        else:
            scheduler.freeze(hosted.sandbox, None if args["freeze"] is True else _instant(args["freeze"], "freeze"))
    except ValueError as refusal:
        raise ControlError("MOCK_TIME_GOES_FORWARD", str(refusal)) from None
    return views.clock(hosted.sandbox)


def advance_clock(hosted: HostedSandbox, args: Arguments, *, in_order: bool = True) -> answers.Advanced:
    """
    Let time pass, deliver what falls due, and return what happened on the way, in order.

    `by` counts from the end of the commands `by` that are in progress; from now, if it is not `in_order`.
    """
    if len(args) != 1:
        raise ControlError(
            "MOCK_BAD_ADVANCE",
            f'got {", ".join(args) or "nothing"}; expected one of {{"by": "20m"}}, {{"to": instant}}, {{"to": "next"}} and {{"until": "idle"}}',
        )
    end: Mapping[str, Any]
    if "until" in args:
        if args["until"] != "idle":
            raise ControlError("MOCK_BAD_ADVANCE", f"until: got {args['until']!r}; expected 'idle'")
        end = {"until_idle": True}
    elif "to" in args:
        end = {"to": "next" if args["to"] == "next" else _instant(args["to"], "to")}
    else:
        by = parse_duration(args["by"])
        if by is None:
            raise ControlError(
                "MOCK_BAD_DURATION",
                f"by: got {args['by']!r}; expected 20m, 1h30m, 3500ms or seconds, not negative and below 30,000 years",
            )
        end = {"by": by, "in_order": in_order}
    hosted.dispatch_webhooks(raises_blocked=True)
    try:
        fired = hosted.dispatch.advance(**end)
    except ValueError as refusal:
        raise ControlError("MOCK_TIME_GOES_FORWARD", str(refusal)) from None
    return {"now": views.clock(hosted.sandbox)["now"], "fired": views.fired(fired)}


def read_choices(hosted: HostedSandbox, args: Arguments) -> answers.ChoiceList:
    return views.choices(hosted.sandbox)


def choose(hosted: HostedSandbox, args: Arguments) -> answers.ChoiceList:
    """Set choices by id, all of them or none."""
    problems = Problems()
    set_choices(hosted.sandbox, args, problems, "")
    if problems:
        raise ControlError("MOCK_BAD_CHOICE", "no choice was set; " + "; ".join(map(str, problems)), problems)
    return views.choices(hosted.sandbox)


def _tenant(hosted: HostedSandbox, tenant_id: str) -> Tenant:
    tenants = hosted.sandbox.tenants
    if tenant_id not in tenants:
        raise unknown_id("tenant", tenant_id, tenants)
    return tenants[tenant_id]


def read_tenant(hosted: HostedSandbox, args: Arguments) -> answers.TenantSettings:
    return views.tenant(hosted.sandbox, _tenant(hosted, args["id"]))


def set_tenant(hosted: HostedSandbox, args: Arguments) -> answers.TenantSettings:
    """Change a tenant's name, developer environment or subscription."""
    tenant = _tenant(hosted, args["id"])
    tenant.set_settings(args)
    return views.tenant(hosted.sandbox, tenant)


def read_state(snapshot: HostedSnapshot, args: Arguments) -> answers.State:
    """Return the state as JSON."""
    chats = whole_numbers(args, ("chats",)).get("chats", views.STATE_CHATS)
    if chats > views.STATE_CHATS:
        expected = f"at most {views.STATE_CHATS} (the mock's own bound)"
        raise ControlError("MOCK_BAD_QUERY", f"chats: got {chats}; expected {expected}")
    return views.state(snapshot.state, chats=chats)


def reset(hosted: HostedSandbox, args: Arguments) -> None:
    """Restore the initial state."""
    hosted.reset()


def create_checkpoint(hosted: HostedSandbox, args: Arguments) -> answers.CreatedCheckpoint:
    """Store the state as it is now, to be restored any number of times."""
    return {"checkpointId": hosted.checkpoints.add(hosted.sandbox.clone())}


def restore_checkpoint(hosted: HostedSandbox, args: Arguments) -> None:
    """Restore the state of the checkpoint."""
    checkpoint = hosted.checkpoints.get(args["id"])
    if checkpoint is None:
        raise unknown_id("checkpoint", args["id"], hosted.checkpoints)
    hosted.restore(checkpoint)


def read_events(hosted: HostedSandbox, args: Arguments) -> answers.Events:
    return views.events(hosted.sandbox)


def health(addressed: AddressedHost, args: Mapping[str, Any]) -> answers.Health:
    return {"status": "ok", "version": VERSION, **_shard(addressed.host)}


def _shard(host: SandboxHost) -> answers.OfShard:
    """Return which of several servers answers: it lists and ends its own sandboxes alone."""
    return {} if host.shard is None else {"shard": host.shard.number, "shards": host.shard.shards}


def create_sandbox(addressed: AddressedHost, args: Mapping[str, Any]) -> answers.CreatedSandbox:
    """Create a sandbox; `choices` take precedence over those of the profile, and these over the scenario's."""
    host = addressed.host
    try:
        hosted = host.create_for_client(_config(args))
    except ScenarioError as refusal:
        raise refused_document(_in_body(refusal, args), "no sandbox was created") from None
    created: answers.CreatedSandbox = {
        "sandboxId": hosted.id,
        "baseUrl": addressed.base_url(hosted),
        "tenantId": hosted.tenant.id,
        "secretKey": hosted.tenant.secret_key,
        "publicKey": hosted.tenant.public_key,
        "webhookSecrets": hosted.created.secrets,
    }
    if host.token is not None:
        created["token"] = host.sandbox_token(hosted.id)
    return created


def _in_body(refusal: ScenarioError, args: Mapping[str, Any]) -> ScenarioError:
    """Return the refusal with the places of a body: a document in it is at `/scenario`, apart from what the body adds."""
    if not isinstance(args.get("scenario"), Mapping) or not isinstance(refusal.document, Document):
        return refusal
    own = [pointer_keys(place) for place in refusal.document.added]
    return ScenarioError(
        problem
        if any(pointer_keys(problem.path)[: len(place)] == place for place in own)
        else problem._replace(path=f"/scenario{problem.path}")
        for problem in refusal.problems
    )


def _config(args: Mapping[str, Any]) -> SandboxConfig:
    """Return the configuration of a body; its profile is one of the mock's own, never a file of the server."""
    own = {name: value for name, value in args.items() if name != "profile"}
    if "profile" not in args:
        return SandboxConfig(**own)
    chosen = PROFILES.get(args["profile"])
    if chosen is None:
        wanted, near = f"one of {', '.join(PROFILES)}", closest_match(args["profile"], PROFILES)
        raise ScenarioError([WrongPart("/profile", repr(args["profile"]), wanted, near)])
    return SandboxConfig(**own | {"choices": merge_choices(chosen, own.get("choices", {}))})


def list_sandboxes(addressed: AddressedHost, args: Mapping[str, Any]) -> answers.Sandboxes:
    """Return the open sandboxes, with a label those that have it, and the closed ones that were called after their end."""
    host, labels = addressed.host, _labels(args)
    hide = Redactor(host.tokens())
    sandboxes, now = host.refreshed(), host.monotonic_us()
    closed: list[answers.ClosedSandbox] = []
    for sandbox_id, count in host.closed.called():
        closed.append({"sandboxId": sandbox_id, "lateCalls": count})
        ended = host.closed.get(sandbox_id)
        if ended is not None:
            closed[-1]["limit"] = cast("answers.Limit", ended.limit)
    return {
        "sandboxes": [
            {
                "sandboxId": hosted.id,
                "baseUrl": addressed.base_url(hosted),
                "createdAt": format_exact(hosted.created_at),
                "exchanges": hosted.sandbox.journal.last_exchange,
                "labels": hide.value(dict(hosted.labels)),
                "memoryBytes": hosted.usage.memory_bytes,
                "idleSeconds": (now - hosted.usage.called_at) // SECOND,
            }
            for hosted in sandboxes
            if labels.items() <= hosted.labels.items()
        ],
        "closed": closed,
        **_shard(host),
    }


def delete_sandboxes(addressed: AddressedHost, args: Mapping[str, Any]) -> answers.EndedSandboxes:
    """End the sandboxes that have a label; without one nothing is ended."""
    labels = _labels(args)
    if not labels:
        raise ControlError("MOCK_BAD_QUERY", "got no label; expected label=KEY:VALUE, such as label=job:4711")
    host = addressed.host
    chosen = [hosted.id for hosted in list(host.sandboxes.values()) if labels.items() <= hosted.labels.items()]
    return {"ended": [sandbox_id for sandbox_id in chosen if host.close_for_client(sandbox_id)], **_shard(host)}


def _labels(args: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of a query, `key:value` separated by commas; a sandbox is meant if it has them all."""
    labels = {}
    for label in args["label"].split(",") if "label" in args else ():
        key, colon, value = label.partition(":")
        if not key or not colon:
            raise ControlError(
                "MOCK_BAD_QUERY", f"label: got {reprlib.repr(label)}; expected KEY:VALUE, such as job:4711"
            )
        labels[key] = value
    return labels


def delete_sandbox(addressed: AddressedHost, args: Mapping[str, Any]) -> None:
    """End a sandbox other than the default one."""
    sandbox_id = args["id"]
    if sandbox_id == DEFAULT_ID:
        raise ControlError(
            "MOCK_DEFAULT_SANDBOX", "the default sandbox cannot be deleted; reset it with POST /_mock/reset"
        )
    if not addressed.host.close_for_client(sandbox_id):
        raise ControlError(
            "MOCK_NOT_FOUND", f"sandbox: got {sandbox_id!r}; expected one that GET /_mock/sandboxes lists"
        )
