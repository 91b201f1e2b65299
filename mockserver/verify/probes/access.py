"""Probes of keys, tenants, paths and bodies: what calls that only read can show."""

from __future__ import annotations

from mockserver.verify.context import JSON_HEADERS, Exchange, KeyRole, RunContext, Stop, Unexpected, require_success
from mockserver.verify.previews import size


def authentication(context: RunContext) -> None:
    """The first call shows whether the service accepts the key."""
    exchange = context.call("listTemplates")
    if exchange.code is not None and exchange.status in (401, 403):
        raise Stop(f"the service refused the key: {exchange.code}")
    context.judge("base.prefix", exchange.succeeded, exchange, "a success under /v1")
    context.templates = [
        each for each in require_success(exchange)["templates"] if isinstance(each, dict) and "id" in each
    ]


def unknown_path(context: RunContext) -> None:
    exchange = context.get("/v1/mockserver-verify-no-such-path")
    fits = exchange.status in (404, 405) and exchange.code is not None
    context.judge("base.unknown-path", fits, exchange, "404 with the error body")


def keys(context: RunContext) -> None:
    context.judge_refusal("auth.header", context.call("listTemplates", key="none"), "API_KEY_MISSING")
    context.judge_refusal("auth.header", context.call("previewAudience", json={}, key="none"), "API_KEY_MISSING")
    context.judge_refusal("auth.unknown", context.call("listTemplates", key="unknown"), "API_KEY_INVALID")
    context.judge_refusal("auth.unknown", context.call("listTemplates", key="unprefixed"), "API_KEY_INVALID")


def public_key(context: RunContext) -> None:
    """Campaign and session endpoints take no public key."""
    session = f"connection_session_mockserver_verify_{context.settings.tag}"
    for exchange in (
        context.call("listCampaigns", key="public"),
        context.call("readFilterSchema", key="public"),
        context.call("previewAudience", json={}, key="public"),
        context.call("readConnectionSession", session, key="public"),
    ):
        if exchange.code == "API_KEY_INVALID":
            raise Unexpected("the service refuses the public key as invalid")
        context.judge_refusal("auth.secret-only", exchange, "API_KEY_WRONG_TYPE")


def public_form(context: RunContext) -> None:
    """A form's policy is the one call that a front end needs; whether it accepts a public key is open."""
    exchange = context.call("readFormPolicy", context.settings.form, key="public")
    if exchange.succeeded:
        context.judge("auth.public-elsewhere", True, exchange, "a success with a public key")


def other_tenant(context: RunContext) -> None:
    """No key lists or reads the records of the other key's tenant."""
    listing = context.call("listTemplates", key="other")
    their_ids = {template["id"] for template in require_success(listing)["templates"]}
    own_ids = {template["id"] for template in context.templates}
    if own_ids and own_ids == their_ids:
        raise Unexpected("both keys list the same templates, as two keys of one tenant do")
    context.other_templates = sorted(their_ids - own_ids)
    context.judge("base.tenant-scope", not their_ids & own_ids, listing, "no template of the first key's tenant")
    for id in context.other_templates[:2]:
        _read_across(context, "readTemplate", id, "MESSAGE_TEMPLATE_NOT_FOUND", key="secret")
    for id in sorted(own_ids - their_ids)[:2]:
        _read_across(context, "readTemplate", id, "MESSAGE_TEMPLATE_NOT_FOUND", key="other")
    settings = context.settings
    for operation, id, code in (
        ("readEntrypoint", settings.entrypoint, "ENTRYPOINT_NOT_FOUND"),
        ("listMessages", settings.chat, "CHAT_NOT_FOUND"),
        ("readFormPolicy", settings.form, "FORM_NOT_FOUND"),
    ):
        if id:
            _read_across(context, operation, id, code, key="other")


def _read_across(context: RunContext, operation: str, id: str, code: str, *, key: KeyRole) -> None:
    exchange = context.call(operation, id, key=key)
    expected = {code: "not-found", "RESOURCE_ACCESS_DENIED": "access-denied"}
    for clause in ("base.tenant-scope", "auth.denied"):
        context.judge_refusal(clause, exchange, *expected)
    context.observe("cross-tenant-code", [expected[str(exchange.code)]] if exchange.code in expected else [], exchange)


def loose_bodies(context: RunContext) -> None:
    """An unknown key, a null and an empty JSON body, sent by the one POST that changes nothing."""
    unknown = context.call("previewAudience", json={"mockserverVerify": True})
    refusals = ("VALIDATION_ERROR", "CAMPAIGN_INVALID_FILTERS")
    _observe_accepted_or_rejected(context, "unknown-body-keys", "ignore", "reject", unknown, ("VALIDATION_ERROR",))
    null = context.call("previewAudience", json={"filters": None})
    _observe_accepted_or_rejected(context, "null-for-optional", "omit", "reject", null, refusals)
    # The document leaves open whether the preview needs a body; if it does, an empty one shows nothing.
    if context.call("previewAudience").succeeded:
        empty = context.call("previewAudience", headers=JSON_HEADERS)
        _observe_accepted_or_rejected(context, "empty-json-body", "accept", "reject", empty, ("VALIDATION_ERROR",))


def _observe_accepted_or_rejected(
    context: RunContext, choice: str, accepted: str, rejected: str, exchange: Exchange, codes: tuple[str, ...]
) -> None:
    option = accepted if exchange.succeeded else rejected if exchange.code in codes else None
    context.judge("base.input", option is not None, exchange, f"a success, or {' or '.join(codes)}")
    context.observe(choice, [option] if option else [], exchange)


def broken_json(context: RunContext) -> None:
    """A body that is not a JSON object fails its schema."""
    for body in (b"{", b"[]", b'"text"'):
        exchange = context.call("previewAudience", body=body, headers=JSON_HEADERS)
        context.judge_refusal("campaigns.validation", exchange, "VALIDATION_ERROR")


def audience_without_filters(context: RunContext) -> None:
    exchange = context.call("previewAudience", json={})
    context.judge("audience.preview", size(exchange) >= 0, exchange, "estimatedCount, an integer of at least 0")
