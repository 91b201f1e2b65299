"""Application of a document to a sandbox: choices, clock, seed data and script, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver._json import JSON
from mockserver.contract.limits import RULES_MAX
from mockserver.contract.text import counted
from mockserver.core import scheduler
from mockserver.core.instants import usable
from mockserver.core.state.sandbox import KeyOwner, SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.scenario.choices import set_choices
from mockserver.scenario.documents import examine, refusal
from mockserver.scenario.problems import Problems, ScenarioError, WrongPart
from mockserver.scenario.rule_parser import add_rules
from mockserver.scenario.seed_context import SeedContext
from mockserver.scenario.seed_data import BUILDERS

DEFAULT_TENANT = "tenant_default"


class Applied(NamedTuple):
    """
    Result of applying a document.

    Attributes:
        scenario: The document's name, if it has one.
        tenants: The new tenants, in order of creation.
        created: The ids of all new records, by kind: `{"chats": ["chat_...", ...], ...}`.
        ignored_keys: The keys of the document that this sandbox ignores: `calls`, and `seed` unless it is new.
        secrets: The signing secrets assigned to webhooks that have none in the document, by webhook id.
        rules: The ids of the new rules, in the order of the script.
    """

    scenario: str | None
    tenants: list[Tenant]
    created: dict[str, list[str]]
    ignored_keys: list[str]
    secrets: dict[str, str]
    rules: list[str]

    def as_json(self) -> JSON:
        """Return the response of the control plane, the only one with whole keys and assigned signing secrets."""
        tenants = [{"id": row.id, "secretKey": row.secret_key, "publicKey": row.public_key} for row in self.tenants]
        return {
            "scenario": self.scenario,
            "tenants": tenants,
            "created": self.created,
            "rules": self.rules,
            "ignored": self.ignored_keys,
        } | ({"webhookSecrets": self.secrets} if self.secrets else {})


def create_default_tenant(sandbox: SandboxState) -> Tenant:
    """Create the default tenant of a new sandbox, with its two keys and no records."""
    return _new_tenant(sandbox, DEFAULT_TENANT, "Default tenant")


def apply(sandbox: SandboxState, document: Mapping[str, Any], *, is_new: bool = False) -> Applied:
    """
    Apply a document to the sandbox, all or nothing.

    Args:
        sandbox: The sandbox to change.
        document: The document, not validated yet.
        is_new: The sandbox is being created from this document, so its `seed` is in effect.

    Raises:
        ScenarioError: With every problem that its schema finds, else every other one; nothing of it was applied, unless the
            sandbox is new.

    Lock:
        The caller holds the sandbox's.
    """
    values, problems = examine(document)
    before = None if is_new else sandbox.clone()  # a new one whose document is refused is discarded
    try:
        if problems:
            raise refusal(problems, document)
        applied = _applied(sandbox, values, problems, is_new=is_new)
        if problems:
            raise refusal(problems, document)
    except BaseException as failure:
        if before is not None:
            sandbox.load(before)
        if isinstance(failure, ScenarioError):
            failure.document = document
        raise
    return applied


def _applied(sandbox: SandboxState, document: Mapping[str, Any], problems: Problems, *, is_new: bool) -> Applied:
    """Apply each part of a document to the sandbox, and add its problems to `problems`."""
    # `seed` is for the creation of a sandbox, `calls` for a replay.
    ignored = [key for key in ("seed", "calls") if key in document and (key == "calls" or not is_new)]
    applied = Applied(
        scenario=document.get("scenario"), tenants=[], created={}, ignored_keys=ignored, secrets={}, rules=[]
    )
    set_choices(sandbox, document.get("choices", {}), problems)
    _set_clock(sandbox, document.get("clock"), problems)
    _add_seed_data(sandbox, document.get("given", {}), problems, applied)
    script = document.get("script", ())
    former = len(sandbox.rule_set.rules)
    if script and former + len(script) > RULES_MAX:
        wanted = (
            f"at most {RULES_MAX} with the {former} of the sandbox (the mock's own bound); remove those that are spent"
        )
        problems.append(WrongPart("/script", counted(len(script), "rule"), wanted))
    else:
        applied.rules.extend(add_rules(sandbox, script, document.get("scenario"), problems))
    return applied


def _set_clock(sandbox: SandboxState, clock: Mapping[str, Any] | None, problems: Problems) -> None:
    if clock is None:
        return
    if "follow" in clock:
        scheduler.follow(sandbox, catch_up=clock.get("catchUp", False))
        return
    instant, wanted = usable(clock["freeze"])
    if not wanted:
        try:
            scheduler.freeze(sandbox, instant)
        except ValueError as refused:
            wanted = f"an instant that is not before the sandbox's now: {refused}"
    if wanted:
        problems.add("/clock/freeze", clock["freeze"], wanted)


def _add_seed_data(sandbox: SandboxState, given: Mapping[str, Any], problems: Problems, applied: Applied) -> None:
    """Add the records of every tenant, those of the default tenant first."""
    own = {kind: entries for kind, entries in given.items() if kind != "tenants"}
    others = ((f"/given/tenants/{number}", entry) for number, entry in enumerate(given.get("tenants", ())))
    for path, entry in (("/given", own), *others):
        tenant = sandbox.tenants.get(entry.get("id", DEFAULT_TENANT if path == "/given" else ""))
        if tenant is None:
            tenant_id = entry.get("id") or sandbox.new_id("tenant_")
            if sandbox.has_id(tenant_id):
                problems.add(f"{path}/id", tenant_id, "an id that is not in use in the sandbox")
            tenant = _new_tenant(sandbox, tenant_id, tenant_id)
            applied.tenants.append(tenant)
            applied.created.setdefault("tenants", []).append(tenant.id)
        _set_tenant(sandbox, tenant, entry, problems, path)
        context = SeedContext(
            sandbox=sandbox, tenant=tenant, problems=problems, created=applied.created, secrets=applied.secrets
        )
        for kind, build in BUILDERS.items():
            if kind in entry:
                build(context, entry[kind], f"{path}/{kind}")


def _new_tenant(sandbox: SandboxState, tenant_id: str, name: str) -> Tenant:
    """Create a tenant whose keys follow from the seed."""
    secret, public = (sandbox.seeded_key(kind, f"{kind} key", tenant_id) for kind in ("secret", "public"))
    tenant = sandbox.tenants[tenant_id] = Tenant(tenant_id, name, secret, public)
    sandbox.keys |= {secret: KeyOwner(tenant_id, "secret"), public: KeyOwner(tenant_id, "public")}
    return tenant


def _set_tenant(sandbox: SandboxState, tenant: Tenant, entry: Mapping[str, Any], problems: Problems, path: str) -> None:
    """Set the fields of a tenant; a new key replaces the old one, which becomes invalid."""
    tenant.set_settings(entry)
    for kind, attribute in (("secret", "secret_key"), ("public", "public_key")):
        key, former = entry.get(f"{kind}Key"), getattr(tenant, attribute)
        if key is None or key == former:
            continue
        if key in sandbox.keys:
            wanted = "a key that no tenant of the sandbox has yet"
            problems.append(WrongPart(f"{path}/{kind}Key", f"{key[:3]}...", wanted))
            continue
        del sandbox.keys[former]
        sandbox.keys[key] = KeyOwner(tenant.id, kind)
        setattr(tenant, attribute, key)
