"""Forms: the embed policy, and nothing else of them."""

from __future__ import annotations

from mockserver.core.calls import Call, Shown
from mockserver.core.lookup import find
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant


def read_policy(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """The origins that may embed the form, whether or not it is active (forms.policy)."""
    return Shown(find(sandbox, tenant, "forms", call.params["id"], code="FORM_NOT_FOUND", clause="forms.policy"))
