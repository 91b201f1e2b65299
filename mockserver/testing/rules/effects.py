"""
Effects of a rule: one method per effect of scenario documents, with the same name and arguments in snake case.

`contract/effects.py` has the list of effects; a test compares it with these methods. The faults of the wire are inherited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mockserver._json import JSON
from mockserver.contract.durations import Length, length
from mockserver.contract.wire_faults import Put, WireFaultMethods

__tracebackhide__ = True  # pytest shows the line of the test that calls a method of this module
Kind = Literal["secret", "public"]

__all__ = ["JSON", "Effects", "Length", "length"]


class Effects(WireFaultMethods[Put]):
    """Effects of a rule; each method puts the rule in force with this one effect, and `do` with several."""

    # On the state

    def complete_session(self, id: str | None = None, *, phone: str | None = None, name: str | None = None) -> Put:
        """
        Let the end user finish the hosted flow.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
            phone: The number that is connected; by default one that no entrypoint has.
            name: The name of the account, by default the tenant's.
        """
        return self._effect("complete-session", id=id, phone=phone, name=name)

    def fail_session(self, id: str | None = None, *, reason: str = "token_exchange_failed") -> Put:
        """
        Let the connection fail.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
            reason: "token_exchange_failed", "phone_in_use" or "funnel_not_found".
        """
        return self._effect("fail-session", id=id, reason=reason)

    def expire_session(self, id: str | None = None) -> Put:
        """
        Let the session expire, also before its deadline.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
        """
        return self._effect("expire-session", id=id)

    def cancel_session(self, id: str | None = None) -> Put:
        """
        Let the end user cancel the hosted flow.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
        """
        return self._effect("cancel-session", id=id)

    def visit_link(self, id: str | None = None, *, user_agent: str | None = None) -> Put:
        """
        Let somebody else, such as a link scanner, open the link of a connection session.

        Args:
            id: The session's id; by default that of the call, else any it can act on.
            user_agent: Its User-Agent.
        """
        return self._effect("visit-link", id=id, userAgent=user_agent)

    def fail_campaign(self, id: str | None = None) -> Put:
        """
        Let a running campaign fail with an unrecoverable error.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._effect("fail-campaign", id=id)

    def cancel_campaign(self, id: str | None = None) -> Put:
        """
        Let another caller cancel a draft or a running campaign.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._effect("cancel-campaign", id=id)

    def stall_sends(self, id: str | None = None) -> Put:
        """
        Stop the sends of a campaign until `resume_sends`.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._effect("stall-sends", id=id)

    def resume_sends(self, id: str | None = None) -> Put:
        """
        Continue the sends of a campaign now, at its own rate.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._effect("resume-sends", id=id)

    def slow_sends(self, per_minute: int, id: str | None = None) -> Put:
        """
        Change the rate of a campaign's sends until `resume_sends`.

        Args:
            per_minute: The number of messages per minute.
            id: The campaign's id; by default that of the call, else any it can act on.
        """
        return self._effect("slow-sends", id=id, perMinute=per_minute)

    def fail_sends(
        self,
        id: str | None = None,
        *,
        ratio: float | None = None,
        every: int | None = None,
        chats: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> Put:
        """
        Let future sends of a campaign fail: a share, every nth, or those to some chats; by default all.

        Args:
            id: The campaign's id; by default that of the call, else any it can act on.
            ratio: The share that fails, from 0 to 1, as the sandbox's seed determines.
            every: 2 for each second position of the execution.
            chats: The ids of the chats.
            reason: A note for readers of the rule.
        """
        return self._effect("fail-sends", id=id, ratio=ratio, every=every, chats=_as_list(chats), reason=reason)

    def set_tenant(
        self,
        tenant: str | None = None,
        *,
        subscription: Literal["active", "suspended", "canceled", "none"] | None = None,
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
        return self._effect("set-tenant", tenant=tenant, **settings)

    def revoke_key(self, tenant: str | None = None, *, kind: Kind | None = None) -> Put:
        """
        Revoke a key of a tenant: it is unknown from the next call on.

        Args:
            tenant: The tenant's id; by default that of the call, else the default one.
            kind: "secret" (the default) or "public".
        """
        return self._effect("revoke-key", tenant=tenant, kind=kind)

    def rotate_key(self, tenant: str | None = None, *, kind: Kind | None = None, key: str | None = None) -> Put:
        """
        Replace a key of a tenant.

        Args:
            tenant: The tenant's id; by default that of the call, else the default one.
            kind: "secret" (the default) or "public".
            key: The new key; by default one that follows from the seed.
        """
        return self._effect("rotate-key", tenant=tenant, kind=kind, key=key)

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
        return self._effect("set-template", id=id, tenant=tenant, **changes)

    def remove_template(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """
        Remove a template.

        Args:
            id: The template's id; by default that of the call, else any it can act on.
            tenant: The tenant's id; by default that of the call, else the default one.
        """
        return self._effect("remove-template", id=id, tenant=tenant)

    def remove_funnel(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """
        Remove a funnel with its steps.

        Args:
            id: The funnel's id; by default that of the call, else any it can act on.
            tenant: The tenant's id; by default that of the call, else the default one.
        """
        return self._effect("remove-funnel", id=id, tenant=tenant)

    def remove_entrypoint(self, id: str | None = None, *, tenant: str | None = None) -> Put:
        """
        Remove an entrypoint; without another one of its platform, future sends fail.

        Args:
            id: The entrypoint's id; by default that of the call, else any it can act on.
            tenant: The tenant's id; by default that of the call, else the default one.
        """
        return self._effect("remove-entrypoint", id=id, tenant=tenant)

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
        return self._effect("fail-media", ratio=ratio, every=every, names=_as_list(names))

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
        """
        Change an attempt to deliver an event; for rules on "delivery".

        Args:
            duplicate: The number of further requests with the same event.
            reorder: Send the event after the next one.
            delay: Send it later by this length of time.
            lose: Do not send it, and count it as accepted.
            before_answer: Send it while the response to the call that caused it is still being sent.
            forge: Send a forged request in addition: "no-signature", "wrong-secret", "old-timestamp", "changed-body",
                "changed-id", "other-tenant" or "junk-header".
            old_secret: Sign with a former secret too: two signatures, the valid one second.
            spell: Encode the JSON of the payload differently: "escaped", "spaced" or "reordered-keys".
            unknown_kind: Send an event of this kind, which the API document does not list, in addition.
        """
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
        return self._effect("deliver", **faults)

    def _effect(self, effect: str, **arguments: Any) -> Put:
        return self.do({effect: {key: value for key, value in arguments.items() if value is not None}})


def _as_list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
