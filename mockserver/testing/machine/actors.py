"""Rules of the other actors: the end user of a connection session, and the operator of the tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from mockserver._json import JSON
from mockserver.contract.filters import PLATFORMS

if TYPE_CHECKING:
    from mockserver.testing.machine.recording import Recording
    from mockserver.testing.sandbox import Sandbox


_PHONES = ("+5511900000001", "+5511900000002")
_ENDS: Sequence[JSON] = (
    {"complete-session": {}},
    {"cancel-session": {}},
    {"expire-session": {}},
    {"fail-session": {"reason": "token_exchange_failed"}},
    {"fail-session": {"reason": "phone_in_use"}},
    {"fail-session": {"reason": "funnel_not_found"}},
    *({"complete-session": {"phone": phone}} for phone in _PHONES),
)
_STATUSES = ("APPROVED", "PAUSED", "REJECTED")


def _operator_acts(given: Mapping[str, Any]) -> st.SearchStrategy[JSON]:
    """Return the effects of an operator at the dashboard."""
    acts: list[st.SearchStrategy[JSON]] = [
        st.sampled_from(PLATFORMS).map(lambda platform: {"given": {"chats": [{"platform": platform}]}}),
        st.sampled_from(["active", "suspended"]).map(lambda state: {"set-tenant": {"subscription": state}}),
        st.booleans().map(lambda enabled: {"set-tenant": {"developersEnabled": enabled}}),
    ]
    template_ids = [template["id"] for template in given.get("templates", ()) if "id" in template]
    if template_ids:
        change = st.tuples(st.sampled_from(template_ids), st.sampled_from(_STATUSES))
        acts.append(change.map(lambda pair: {"set-template": {"id": pair[0], "status": pair[1]}}))
    return st.one_of(acts)


class Actors:
    """Rules of people; their actions are effects of scenario documents, and the record contains them."""

    given: ClassVar[Mapping[str, Any]]
    end_user: ClassVar[bool]
    operator: ClassVar[bool]
    sandbox: Sandbox
    _record: Recording

    @property
    def _pending(self) -> list[str]:
        tenants = self.sandbox._hosted.sandbox.tenants.values()
        return [session.id for tenant in tenants for session in tenant.sessions.values() if session.status == "pending"]

    @precondition(lambda self: self.end_user and self._pending)
    @rule(session_id=st.runner().flatmap(lambda self: st.sampled_from(self._pending)), end=st.sampled_from(_ENDS))
    def end_user_acts(self, session_id: str, end: JSON) -> None:
        """Complete, cancel, expire or fail a pending session, as its end user."""
        ((effect, details),) = end.items()
        self.apply_effects({effect: {"id": session_id, **details}})

    @precondition(lambda self: self.operator)
    @rule(act=st.runner().flatmap(lambda self: _operator_acts(self.given)))
    def operator_acts(self, act: JSON) -> None:
        """Change the tenant or a template, or add a chat, as the operator."""
        self.apply_effects(act)

    def apply_effects(self, effects: Mapping[str, Any]) -> None:
        """
        Apply effects of scenario documents now, and record them for the document that replays the example.

        Raises:
            ValueError: An effect has no target.
        """
        self._record.add_effects(effects)
        (rule_id,) = self.sandbox.apply({"script": [{"at": 0, "do": dict(effects)}]})["rules"]
        self.sandbox.advance(0)
        no_target = next(rule.get("noTarget") for rule in self.sandbox.rules if rule["id"] == rule_id)
        self.sandbox.admin.remove_rules(rule_id)
        if no_target:
            raise ValueError(f"{dict(effects)} has no target: {no_target}")
