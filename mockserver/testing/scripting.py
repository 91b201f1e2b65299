"""
Rules in Python: `sandbox.on("startCampaign").nth(1).drop("after")`. Each method ends in the document's own words.

A `When` says when, and puts a rule in force once it is told what to do; a `ScriptedRule` is what is then in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Self

Length = str | float | timedelta
JSON = dict[str, Any]


def length(written: Length) -> str | float:
    """A length of time as a document writes it."""
    return written.total_seconds() if isinstance(written, timedelta) else written


class ScriptedRule:
    """A rule in force. Made by `sandbox.on`, `at` and `after`; ends with `remove()` or with its sandbox."""

    def __init__(self, id: str, listed: Callable[[], Sequence[JSON]], remove: Callable[[str], None]) -> None:
        self.id = id
        self._listed = listed
        self._remove = remove

    def _entry(self) -> JSON:
        found = next((each for each in self._listed() if each["id"] == self.id), None)
        if found is None:
            raise ValueError(f"{self.id} is not in force any more")
        return found

    @property
    def matched(self) -> int:
        """How many calls it has matched."""
        return int(self._entry()["matched"])

    @property
    def fired(self) -> int:
        """How often it has fired."""
        return int(self._entry()["fired"])

    @property
    def unmet(self) -> str | None:
        """Why its last firing met nothing to act on, if it did not."""
        found: str | None = self._entry().get("unmet")
        return found

    def remove(self) -> None:
        """End it."""
        self._remove(self.id)

    def __repr__(self) -> str:
        return f"<ScriptedRule {self.id}>"


class When:
    """
    When a rule fires; each method adds a condition, or says what happens and puts the rule in force.

    ValueError says what is wrong with it, and then nothing was put in force.
    """

    def __init__(self, put: Callable[[JSON], ScriptedRule], trigger: Mapping[str, Any]) -> None:
        self._put = put
        self._entry = dict(trigger)

    def _with(self, **added: Any) -> Self:
        return type(self)(self._put, self._entry | added)

    def nth(self, number: int) -> Self:
        """Only the match of this number, from 1."""
        return self._with(nth=number)

    def times(self, count: int) -> Self:
        """End after so many firings."""
        return self._with(times=count)

    def every(self, number: int) -> Self:
        """Each match of this number."""
        return self._with(every=number)

    def skip(self, count: int) -> Self:
        """Leave the first so many matches alone."""
        return self._with(skip=count)

    def chance(self, chance: float) -> Self:
        """Fire with this chance, from 0 to 1, drawn from the sandbox's seed."""
        return self._with(chance=chance)

    def between(self, start: Length | None = None, end: Length | None = None) -> Self:
        """Only from `start` on and before `end`, counted from now."""
        bounds = {"from": start, "until": end}
        return self._with(**{key: length(each) for key, each in bounds.items() if each is not None})

    def where(self, conditions: Mapping[str, Any] | None = None, **body: Any) -> Self:
        """Only calls with these values by path (`path.id`, `query.limit`, `header.x`, `body.name`); keywords mean the body."""
        wanted = {**(conditions or {}), **{f"body.{key}": value for key, value in body.items()}}
        return self._with(where={**self._entry.get("where", {}), **wanted})

    def during(
        self,
        *,
        campaign: str | None = None,
        sent: int | str | None = None,
        failed: int | str | None = None,
        target: int | str | None = None,
        session: str | None = None,
        subscription: str | None = None,
    ) -> Self:
        """Only while the world is so: `campaign="processing", sent=">=20"`."""
        given = {"campaign": campaign, "sent": sent, "failed": failed, "target": target}
        given |= {"session": session, "subscription": subscription}
        return self._with(**{"while": {key: value for key, value in given.items() if value is not None}})

    def before_operation(self) -> Self:
        """Effects on the world come before the operation, not after it."""
        return self._with(when="before")

    def must_fire(self) -> Self:
        """A test in which it never fires, fails."""
        return self._with(mustFire=True)

    def do(self, effects: Mapping[str, Any]) -> ScriptedRule:
        """Any effects together, in the words of scenario documents."""
        return self._put({**self._entry, "do": dict(effects)})

    def error(self, code: str, *, retry_after_s: int | None = None) -> ScriptedRule:
        """Refuse with a code of the catalogue instead of running the operation."""
        return self.do({"error": code if retry_after_s is None else {"code": code, "retryAfter": retry_after_s}})

    def reply(self, status: int, body: Any = None, headers: Mapping[str, str] | None = None) -> ScriptedRule:
        """This answer instead of running the operation; text as it is, any other body as JSON."""
        return self.do({"reply": {"status": status, "headers": dict(headers or {}), "body": body}})

    def delay(self, by: Length) -> ScriptedRule:
        """Wait before the operation."""
        return self.do({"delay": length(by)})

    def delay_after(self, by: Length) -> ScriptedRule:
        """The operation takes effect, its answer is late."""
        return self.do({"delay-after": length(by)})

    def drop(self, when: Literal["before", "after"]) -> ScriptedRule:
        """Close without an answer, before or after the operation took effect."""
        return self.do({"drop": when})

    def reset(self, when: Literal["before", "after"]) -> ScriptedRule:
        """Reset the connection, before or after the operation took effect."""
        return self.do({"reset": when})

    def truncate(self, body_bytes: int) -> ScriptedRule:
        """So many bytes of the body, then the end of the connection."""
        return self.do({"truncate": body_bytes})

    def garble(self) -> ScriptedRule:
        """200 with a body that is not JSON, after the operation took effect."""
        return self.do({"garble": True})

    def dribble(self, chunks: int, over: Length) -> ScriptedRule:
        """A slow body: so many pieces over so long."""
        return self.do({"dribble": {"chunks": chunks, "over": length(over)}})

    def stale(self) -> ScriptedRule:
        """A read answers as before the last change."""
        return self.do({"stale": True})

    def complete_session(self, session_id: str | None = None, **details: str) -> ScriptedRule:
        """The end user finishes; `phone` and `name` as keywords."""
        return self._act("complete-session", session_id, details)

    def fail_session(self, session_id: str | None = None, *, reason: str = "token_exchange_failed") -> ScriptedRule:
        """The connection fails."""
        return self._act("fail-session", session_id, {"reason": reason})

    def cancel_session(self, session_id: str | None = None) -> ScriptedRule:
        """The end user cancels the flow."""
        return self._act("cancel-session", session_id)

    def expire_session(self, session_id: str | None = None) -> ScriptedRule:
        """The session expires."""
        return self._act("expire-session", session_id)

    def fail_campaign(self, campaign_id: str | None = None) -> ScriptedRule:
        """A running campaign meets an unrecoverable error."""
        return self._act("fail-campaign", campaign_id)

    def stall_sends(self, campaign_id: str | None = None) -> ScriptedRule:
        """Nothing more is sent until `resume_sends`."""
        return self._act("stall-sends", campaign_id)

    def resume_sends(self, campaign_id: str | None = None) -> ScriptedRule:
        """Sending goes on."""
        return self._act("resume-sends", campaign_id)

    def slow_sends(self, per_minute: int, campaign_id: str | None = None) -> ScriptedRule:
        """Send at this rate until `resume_sends`."""
        return self._act("slow-sends", campaign_id, {"perMinute": per_minute})

    def fail_sends(self, campaign_id: str | None = None, **which: Any) -> ScriptedRule:
        """Some of what is still to come fails: `ratio=`, `every=` or `chats=`; all without one."""
        return self._act("fail-sends", campaign_id, which)

    def set_tenant(self, **settings: Any) -> ScriptedRule:
        """Change `subscription`, `developersEnabled` or `name` of `tenant`, the call's or default one where none is named."""
        return self._act("set-tenant", None, settings)

    def set_choices(self, chosen: Mapping[str, Any]) -> ScriptedRule:
        """Set choices."""
        return self.do({"set-choice": dict(chosen)})

    def give(self, given: Mapping[str, Any]) -> ScriptedRule:
        """Seed data that appears then."""
        return self.do({"given": dict(given)})

    def rate_limit(self, requests: int, per: Length) -> ScriptedRule:
        """A budget of so many requests per time and key."""
        return self.do({"rate-limit": {"requests": requests, "per": length(per)}})

    def advance(self, by: Length) -> ScriptedRule:
        """Let time pass."""
        return self.do({"advance": length(by)})

    def deliver(self, **twists: Any) -> ScriptedRule:
        """Bend an attempt to deliver: `duplicate=`, `reorder=`, `delay=`, `lose=`, `forge=` ..., with _ for -."""
        return self.do({"deliver": {key.replace("_", "-"): value for key, value in twists.items()}})

    def _act(self, effect: str, record_id: str | None, details: Mapping[str, Any] | None = None) -> ScriptedRule:
        return self.do({effect: ({"id": record_id} if record_id else {}) | dict(details or {})})
