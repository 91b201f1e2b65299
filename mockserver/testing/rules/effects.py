"""
What a rule does, one method for each effect of a document: the same name with `_` for `-`, the same arguments in snake case.

`contract/effects.py` lists the effects, and a test compares the two lists. The faults of the wire are inherited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mockserver.contract.durations import Length, length
from mockserver.contract.wire_faults import Put, WireFaultMethods

JSON = dict[str, Any]
Kind = Literal["secret", "public"]

__all__ = ["JSON", "Effects", "Length", "length"]


class Effects(WireFaultMethods[Put]):
    """The effects of a rule, each a method that puts the rule in force with this effect alone; `do` takes several."""

    # On the world

    def complete_session(self, id: str | None = None, *, phone: str | None = None, name: str | None = None) -> Put:
        """The end user finishes the hosted flow."""
        return self._act("complete-session", id=id, phone=phone, name=name)

    def fail_session(self, id: str | None = None, *, reason: str = "token_exchange_failed") -> Put:
        """The connection fails."""
        return self._act("fail-session", id=id, reason=reason)

    def expire_session(self, id: str | None = None) -> Put:
        """The session expires, also before its deadline."""
        return self._act("expire-session", id=id)

    def cancel_session(self, id: str | None = None) -> Put:
        """The end user cancels the hosted flow."""
        return self._act("cancel-session", id=id)

    def visit_link(self, id: str | None = None, *, user_agent: str | None = None) -> Put:
        """A scanner or a second person opens the session's url."""
        return self._act("visit-link", id=id, userAgent=user_agent)

    def fail_campaign(self, id: str | None = None) -> Put:
        """A running campaign meets an unrecoverable error."""
        return self._act("fail-campaign", id=id)

    def stall_sends(self, id: str | None = None) -> Put:
        """Nothing more is sent until `resume_sends`."""
        return self._act("stall-sends", id=id)

    def resume_sends(self, id: str | None = None) -> Put:
        """The next send goes now, the rest evenly from there at the campaign's own rate."""
        return self._act("resume-sends", id=id)

    def slow_sends(self, per_minute: int, id: str | None = None) -> Put:
        """The sends go at this rate until `resume_sends`."""
        return self._act("slow-sends", id=id, perMinute=per_minute)

    def fail_sends(
        self,
        id: str | None = None,
        *,
        ratio: float | None = None,
        every: int | None = None,
        chats: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> Put:
        """Some of the sends that are still to come fail: a share, every nth, or those to these chats; else all."""
        return self._act("fail-sends", id=id, ratio=ratio, every=every, chats=_listed(chats), reason=reason)

    def set_tenant(
        self,
        tenant: str | None = None,
        *,
        subscription: Literal["active", "suspended", "canceled", "none"] | None = None,
        developers_enabled: bool | None = None,
        name: str | None = None,
    ) -> Put:
        """Change a tenant's settings."""
        settings = {"subscription": subscription, "developersEnabled": developers_enabled, "name": name}
        return self._act("set-tenant", tenant=tenant, **settings)

    def revoke_key(self, tenant: str | None = None, *, kind: Kind | None = None) -> Put:
        """A tenant's key, the secret one if no kind is given, is unknown from the next call on."""
        return self._act("revoke-key", tenant=tenant, kind=kind)

    def rotate_key(self, tenant: str | None = None, *, kind: Kind | None = None, key: str | None = None) -> Put:
        """A new key takes the place of a tenant's key."""
        return self._act("rotate-key", tenant=tenant, kind=kind, key=key)

    def set_template(
        self,
        id: str | None = None,
        *,
        tenant: str | None = None,
        status: str | None = None,
        variables: Sequence[Mapping[str, Any]] | None = None,
        text: str | None = None,
    ) -> Put:
        """Change a template; while it is not approved what is still to come fails."""
        changes = {"status": status, "variables": _listed(variables), "text": text}
        return self._act("set-template", id=id, tenant=tenant, **changes)

    def remove_template(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """A template is gone."""
        return self._act("remove-template", id=id, tenant=tenant)

    def remove_funnel(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """A funnel with its steps is gone."""
        return self._act("remove-funnel", id=id, tenant=tenant)

    def remove_entrypoint(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """A channel is gone; without another of its platform what is still to come fails."""
        return self._act("remove-entrypoint", id=id, tenant=tenant)

    def fail_media(
        self, *, ratio: float | None = None, every: int | None = None, names: Sequence[str] | None = None
    ) -> Put:
        """Storage fails for a share of the files, every nth, or those of these names; such a file has `success: false`."""
        return self._act("fail-media", ratio=ratio, every=every, names=_listed(names))

    def given(self, given: Mapping[str, Any]) -> Put:
        """Seed data that appears then."""
        return self.do({"given": dict(given)})

    def rate_limit(self, requests: int | Literal["off"], per: Length | None = None) -> Put:
        """A budget of `requests` in the time `per` for each key, or "off"."""
        return self.do({"rate-limit": _numbers(requests, per)})

    def set_choice(self, choices: Mapping[str, Any]) -> Put:
        """Set choices by id."""
        return self.do({"set-choice": dict(choices)})

    def advance(self, by: Length) -> Put:
        """Let time pass."""
        return self.do({"advance": length(by)})

    # On deliveries

    def deliver(
        self,
        *,
        duplicate: int | None = None,
        reorder: bool | None = None,
        delay: Length | None = None,
        lose: bool | None = None,
        before_answer: bool | None = None,
        forge: str | None = None,
        old_secret: bool | None = None,
        spell: str | None = None,
        unknown_kind: str | None = None,
    ) -> Put:
        """Change an attempt to deliver an event."""
        faults = {
            "duplicate": duplicate,
            "reorder": reorder,
            "delay": None if delay is None else length(delay),
            "lose": lose,
            "before-answer": before_answer,
            "forge": forge,
            "old-secret": old_secret,
            "spell": spell,
            "unknown-kind": unknown_kind,
        }
        return self._act("deliver", **faults)

    def _act(self, effect: str, **arguments: Any) -> Put:
        return self.do({effect: {key: value for key, value in arguments.items() if value is not None}})


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _numbers(requests: int | str, per: Length | None) -> str | JSON:
    if isinstance(requests, str):
        return requests
    return {"requests": requests} | ({} if per is None else {"per": length(per)})
