"""
Effects on the state: each is one row and one Python method; `core/faults/effects.py` has what it does.

An effect acts on sessions (as the end user or another visitor of the link would), on campaigns and their remaining
sends, or on a tenant's settings, keys, templates, funnels and entrypoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

from mockserver.contract.durations import Length, length
from mockserver.contract.effects.model import (
    DURATION,
    Effect,
    EffectMethods,
    Put,
    object_form,
    object_schema,
    reference,
)
from mockserver.contract.errors import FAILURE_REASONS

__tracebackhide__ = True  # pytest shows the line of the test that calls a method of this module
Kind = Literal["secret", "public"]
Subscription = Literal["active", "suspended", "canceled", "none"]

_ID: Final = reference(
    "id", "Id", "Whom it acts on; left out, what the triggering call is about, else whatever it can act on."
)
_TENANT: Final = reference("id", "Tenant", "Whose; left out, the call's, else the default one.")
_NAME: Final = reference("name")
_KIND: Final = {"title": "Which key", "enum": list(get_args(Kind)), "default": "secret"}
_RATIO: Final = {
    "title": "Share",
    "description": "The share that fails, drawn from the seed.",
    "type": "number",
    "minimum": 0,
    "maximum": 1,
    "examples": [0.5],
}
_EVERY: Final = {
    "title": "Every nth",
    "description": "Each nth fails.",
    "type": "integer",
    "minimum": 1,
    "examples": [3],
}
_PHONE: Final = {
    "title": "Phone",
    "description": "With its country code; by default an unused one is drawn.",
    "type": "string",
    "minLength": 1,
    "maxLength": 40,
    "examples": ["+5511999990000"],
}
_REASON: Final = {"title": "Reason", "enum": list(FAILURE_REASONS), "default": FAILURE_REASONS[0]}
_USER_AGENT: Final = {
    "title": "User agent",
    "type": "string",
    "minLength": 1,
    "maxLength": 500,
    "examples": ["TelegramBot (like TwitterBot)"],
}
_PER_MINUTE: Final = {"title": "Messages per minute", "type": "integer", "minimum": 1}
_CHATS: Final = {"title": "Chats", "type": "array", "minItems": 1, "items": reference("id")}
_SETTINGS: Final = {
    "tenant": _TENANT,
    "subscription": {"title": "Subscription", "enum": list(get_args(Subscription))},
    "developersEnabled": {"title": "Developers enabled", "type": "boolean"},
    "name": _NAME,
}
_KEY: Final = {
    "title": "a key of visible ASCII characters",
    "description": "By default drawn.",
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": "^[!-~]+(?!\\n)$",
}
_TEMPLATE: Final = {
    "id": _ID,
    "tenant": _TENANT,
    "status": {
        "title": "Approval status",
        "description": "The status given by the channel provider; left out for an internal template.",
        "enum": ["APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED"],
    },
    "variables": {"title": "Variables", "type": "array", "items": reference("templateVariable")},
    "text": {"title": "Text of the first item", "type": "string"},
}
_FILE_NAMES: Final = {
    "title": "File names",
    "type": "array",
    "minItems": 1,
    "items": {"type": "string", "minLength": 1, "maxLength": 300},
}
_CHOICE_VALUES: Final = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"minLength": 1, "maxLength": 200},
    "additionalProperties": reference("choiceValue"),
}


def _row(name: str, meaning: str, members: Mapping[str, Any], *required: str, **further: Any) -> Effect:
    """Return the row of an effect whose argument is an object of these members."""
    schema = object_schema(None, members, *required)
    argument = object_form(schema, further.get("alternatives", ()))
    return Effect(name=name, group="state", meaning=meaning, argument=argument, schema=schema, **further)


def _row_of_value(name: str, meaning: str, argument: str, schema: Mapping[str, Any], *examples: Any) -> Effect:
    """Return the row of an effect whose argument has another form."""
    return Effect(name=name, group="state", meaning=meaning, argument=argument, schema=schema, examples=examples)


# fmt: off
ROWS: Final = (
    _row("complete-session", "the end user finishes the hosted flow",            {"id": _ID, "phone": _PHONE, "name": _NAME}),
    _row("fail-session",     "the connection fails",                             {"id": _ID, "reason": _REASON}),
    _row("expire-session",   "the session expires, also before its deadline",    {"id": _ID}),
    _row("cancel-session",   "the end user cancels the hosted flow",             {"id": _ID}),
    _row("visit-link",       "somebody else, such as a link scanner, opens the link of a connection session", {"id": _ID, "userAgent": _USER_AGENT}),
    _row("fail-campaign",    "a running campaign fails with an unrecoverable error", {"id": _ID}),
    _row("cancel-campaign",  "another caller cancels a campaign, as the API would", {"id": _ID}),
    _row("stall-sends",      "the sends stop until resume-sends",                {"id": _ID}),
    _row("resume-sends",     "the next send is due now, the rest evenly after it at the campaign's own rate", {"id": _ID}),
    _row("slow-sends",       "the sends have this rate, at most the campaign's own, until resume-sends", {"id": _ID, "perMinute": _PER_MINUTE}, "perMinute"),
    _row("fail-sends",       "remaining sends fail: by default all, or a share, each nth position of the execution, or those to some chats",
         {"id": _ID, "ratio": _RATIO, "every": _EVERY, "chats": _CHATS},
         alternatives=("ratio", "every", "chats"), examples=({"ratio": 0.5}, {"every": 3})),
    _row("set-tenant",       "change a tenant's settings",                       _SETTINGS),
    _row("revoke-key",       "a tenant's key is invalid from the next call on",  {"tenant": _TENANT, "kind": _KIND}),
    _row("rotate-key",       "a new key replaces a tenant's key",                {"tenant": _TENANT, "kind": _KIND, "key": _KEY}),
    _row("set-template",     "change a template; while it is not approved, its remaining sends fail", _TEMPLATE),
    _row("remove-template",  "remove a template",                                {"id": _ID, "tenant": _TENANT}),
    _row("remove-funnel",    "remove a funnel with its steps",                   {"id": _ID, "tenant": _TENANT}),
    _row("remove-entrypoint", "remove a channel; without another one of its platform sends fail", {"id": _ID, "tenant": _TENANT}),
    _row("fail-media",       "storage fails: such a file has `success: false`",
         {"ratio": _RATIO, "every": _EVERY, "names": _FILE_NAMES},
         alternatives=("ratio", "every", "names"), examples=({"names": ["broken.png"]},), precedes_operation=True),
    _row_of_value("given",      "adds records",                       "seed data",            reference("given")),
    _row_of_value("rate-limit", "sets the choice rate-limit-numbers", "off, or {requests, per}", reference("choiceValue"), "off", {"requests": 5, "per": "60s"}),
    _row_of_value("set-choice", "sets choices",                       "{id: option}",         _CHOICE_VALUES, {"dual-status": "guide"}),
    _row_of_value("advance",    "advances the clock",                 "duration",             DURATION),
)
# fmt: on


class StateMethods(EffectMethods[Put]):
    """The effects on the state, each a method that adds the rule with this effect alone."""

    def complete_session(self, id: str | None = None, *, phone: str | None = None, name: str | None = None) -> Put:
        """
        Let the end user finish the hosted flow.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
            phone: The number that is connected; by default one that no entrypoint has.
            name: The name of the account, by default the tenant's.
        """
        return self._do_one("complete-session", id=id, phone=phone, name=name)

    def fail_session(self, id: str | None = None, *, reason: str = "token_exchange_failed") -> Put:
        """
        Let the connection fail.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
            reason: "token_exchange_failed", "phone_in_use" or "funnel_not_found".
        """
        return self._do_one("fail-session", id=id, reason=reason)

    def expire_session(self, id: str | None = None) -> Put:
        """
        Let the session expire, also before its deadline.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
        """
        return self._do_one("expire-session", id=id)

    def cancel_session(self, id: str | None = None) -> Put:
        """
        Let the end user cancel the hosted flow.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
        """
        return self._do_one("cancel-session", id=id)

    def visit_link(self, id: str | None = None, *, user_agent: str | None = None) -> Put:
        """
        Let somebody else, such as a link scanner, open the link of a connection session.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
            user_agent: Its User-Agent.
        """
        return self._do_one("visit-link", id=id, userAgent=user_agent)

    def fail_campaign(self, id: str | None = None) -> Put:
        """
        Let a running campaign fail with an unrecoverable error.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._do_one("fail-campaign", id=id)

    def cancel_campaign(self, id: str | None = None) -> Put:
        """
        Let another caller cancel a draft or a running campaign.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._do_one("cancel-campaign", id=id)

    def stall_sends(self, id: str | None = None) -> Put:
        """
        Stop the sends of a campaign until `resume_sends`.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._do_one("stall-sends", id=id)

    def resume_sends(self, id: str | None = None) -> Put:
        """
        Continue the sends of a campaign now, at its own rate.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._do_one("resume-sends", id=id)

    def slow_sends(self, per_minute: int, id: str | None = None) -> Put:
        """
        Change the rate of a campaign's sends until `resume_sends`.

        Args:
            per_minute: The number of messages per minute.
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._do_one("slow-sends", id=id, perMinute=per_minute)

    def fail_sends(
        self,
        id: str | None = None,
        *,
        ratio: float | None = None,
        every: int | None = None,
        chats: Sequence[str] | None = None,
    ) -> Put:
        """
        Let future sends of a campaign fail: a share, every nth, or those to some chats; by default all.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
            ratio: The share that fails, from 0 to 1, as the sandbox's seed determines.
            every: 2 for each second position of the execution.
            chats: The ids of the chats.
        """
        return self._do_one("fail-sends", id=id, ratio=ratio, every=every, chats=_as_list(chats))

    def set_tenant(
        self,
        tenant: str | None = None,
        *,
        subscription: Subscription | None = None,
        developers_enabled: bool | None = None,
        name: str | None = None,
    ) -> Put:
        """
        Change a tenant's settings.

        Args:
            tenant: The tenant's id; by default that of the call, else the default one.
            subscription: The state of the subscription.
            developers_enabled: True if the developer environment is enabled.
            name: The organization's name.
        """
        settings = {"subscription": subscription, "developersEnabled": developers_enabled, "name": name}
        return self._do_one("set-tenant", tenant=tenant, **settings)

    def revoke_key(self, tenant: str | None = None, *, kind: Kind | None = None) -> Put:
        """
        Revoke a key of a tenant: it is unknown from the next call on.

        Args:
            tenant: The tenant's id; by default that of the call, else the default one.
            kind: "secret" (the default) or "public".
        """
        return self._do_one("revoke-key", tenant=tenant, kind=kind)

    def rotate_key(self, tenant: str | None = None, *, kind: Kind | None = None, key: str | None = None) -> Put:
        """
        Replace a key of a tenant.

        Args:
            tenant: The tenant's id; by default that of the call, else the default one.
            kind: "secret" (the default) or "public".
            key: The new key; by default one that follows from the seed.
        """
        return self._do_one("rotate-key", tenant=tenant, kind=kind, key=key)

    def set_template(
        self,
        id: str | None = None,
        *,
        tenant: str | None = None,
        status: str | None = None,
        variables: Sequence[Mapping[str, Any]] | None = None,
        text: str | None = None,
    ) -> Put:
        """
        Change a template; future sends fail while it is not approved.

        Args:
            id: The template's id; by default that of the call, else any it can act on.
            tenant: The tenant's id; by default that of the call, else the default one.
            status: Its status: "APPROVED", "PENDING", "REJECTED", "PAUSED" or "DISABLED".
            variables: Its variables.
            text: Its text.
        """
        changes = {"status": status, "variables": _as_list(variables), "text": text}
        return self._do_one("set-template", id=id, tenant=tenant, **changes)

    def remove_template(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """
        Remove a template.

        Args:
            id: The template's id; by default that of the call, else any it can act on.
            tenant: The tenant's id; by default that of the call, else the default one.
        """
        return self._do_one("remove-template", id=id, tenant=tenant)

    def remove_funnel(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """
        Remove a funnel with its steps.

        Args:
            id: The funnel's id; by default that of the call, else any it can act on.
            tenant: The tenant's id; by default that of the call, else the default one.
        """
        return self._do_one("remove-funnel", id=id, tenant=tenant)

    def remove_entrypoint(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """
        Remove an entrypoint; without another one of its platform, future sends fail.

        Args:
            id: The entrypoint's id; by default that of the call, else any it can act on.
            tenant: The tenant's id; by default that of the call, else the default one.
        """
        return self._do_one("remove-entrypoint", id=id, tenant=tenant)

    def fail_media(
        self, *, ratio: float | None = None, every: int | None = None, names: Sequence[str] | None = None
    ) -> Put:
        """
        Let the storage of uploaded files fail; such a file has `success: false` in the response.

        Args:
            ratio: The share of files that fails, from 0 to 1, as the sandbox's seed determines.
            every: 2 for every second file.
            names: The names of the files.
        """
        return self._do_one("fail-media", ratio=ratio, every=every, names=_as_list(names))

    def given(self, given: Mapping[str, Any]) -> Put:
        """
        Add seed data.

        Args:
            given: Records by kind, as in scenario documents.
        """
        return self.do({"given": dict(given)})

    def rate_limit(self, requests: int | Literal["off"], per: Length | None = None) -> Put:
        """
        Limit the rate of calls.

        Args:
            requests: The number of calls that each key may send in the time `per`, or "off".
            per: A length of time: `"1m"`, seconds, or a timedelta.
        """
        if isinstance(requests, str):
            return self.do({"rate-limit": requests})
        return self.do({"rate-limit": {"requests": requests} | ({} if per is None else {"per": length(per)})})

    def set_choice(self, choices: Mapping[str, Any]) -> Put:
        """
        Set choices.

        Args:
            choices: Options by the choice's id.
        """
        return self.do({"set-choice": dict(choices)})

    def advance(self, by: Length) -> Put:
        """
        Advance the sandbox's clock.

        Args:
            by: A length of time: `"20m"`, seconds, or a timedelta.
        """
        return self.do({"advance": length(by)})


def _as_list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
