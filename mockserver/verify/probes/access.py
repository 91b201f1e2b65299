"""Probes of keys, tenants, paths and bodies: everything that reads alone can show."""

from __future__ import annotations

from mockserver.verify.context import JSON, Exchange, KeyRole, RunContext, Stop, Unexpected, succeeded
from mockserver.verify.previews import size


def authentication(visit: RunContext) -> None:
    """The first call: whether the key lets one in at all."""
    exchange = visit.call("listTemplates")
    if exchange.code is not None and exchange.status in (401, 403):
        raise Stop(f"the service refused the key: {exchange.code}")
    visit.judge("base.prefix", exchange.succeeded, exchange, "an answer under /v1")
    visit.templates = [each for each in succeeded(exchange)["templates"] if isinstance(each, dict) and "id" in each]


def unknown_path(visit: RunContext) -> None:
    exchange = visit.get("/v1/mockserver-verify-no-such-path")
    fits = exchange.status in (404, 405) and exchange.code is not None
    visit.judge("base.unknown-path", fits, exchange, "404 with the error body")


def keys(visit: RunContext) -> None:
    visit.refused("auth.header", visit.call("listTemplates", key="none"), "API_KEY_MISSING")
    visit.refused("auth.header", visit.call("previewAudience", json={}, key="none"), "API_KEY_MISSING")
    visit.refused("auth.unknown", visit.call("listTemplates", key="unknown"), "API_KEY_INVALID")
    visit.refused("auth.unknown", visit.call("listTemplates", key="unprefixed"), "API_KEY_INVALID")


def public_key(visit: RunContext) -> None:
    """Campaign and session endpoints take no public key."""
    session = f"connection_session_mockserver_verify_{visit.settings.tag}"
    for exchange in (
        visit.call("listCampaigns", key="public"),
        visit.call("readFilterSchema", key="public"),
        visit.call("previewAudience", json={}, key="public"),
        visit.call("readConnectionSession", session, key="public"),
    ):
        if exchange.code == "API_KEY_INVALID":
            raise Unexpected("the service does not know the public key")
        visit.refused("auth.secret-only", exchange, "API_KEY_WRONG_TYPE")


def public_form(visit: RunContext) -> None:
    """A form's policy is the one call that a front end needs; whether it takes a public key is open."""
    exchange = visit.call("readFormPolicy", visit.settings.form, key="public")
    if exchange.succeeded:
        visit.judge("auth.public-elsewhere", True, exchange, "an answer to a public key")


def other_tenant(visit: RunContext) -> None:
    """What another tenant has is neither listed nor read with this key, and the other way round."""
    theirs = visit.call("listTemplates", key="other")
    their_ids = {each["id"] for each in succeeded(theirs)["templates"]}
    own_ids = {each["id"] for each in visit.templates}
    if own_ids and own_ids == their_ids:
        raise Unexpected("both keys list the same templates, as two keys of one tenant do")
    visit.others = sorted(their_ids - own_ids)
    visit.judge("base.tenant-scope", not their_ids & own_ids, theirs, "no template of the first key's tenant")
    for id in visit.others[:2]:
        _read_across(visit, "readTemplate", id, "MESSAGE_TEMPLATE_NOT_FOUND", key="secret")
    for id in sorted(own_ids - their_ids)[:2]:
        _read_across(visit, "readTemplate", id, "MESSAGE_TEMPLATE_NOT_FOUND", key="other")
    given = visit.settings
    for operation, id, code in (
        ("readEntrypoint", given.entrypoint, "ENTRYPOINT_NOT_FOUND"),
        ("listMessages", given.chat, "CHAT_NOT_FOUND"),
        ("readFormPolicy", given.form, "FORM_NOT_FOUND"),
    ):
        if id:
            _read_across(visit, operation, id, code, key="other")


def _read_across(visit: RunContext, operation: str, id: str, code: str, *, key: KeyRole) -> None:
    exchange = visit.call(operation, id, key=key)
    wanted = {code: "not-found", "RESOURCE_ACCESS_DENIED": "access-denied"}
    for clause in ("base.tenant-scope", "auth.denied"):
        visit.refused(clause, exchange, *wanted)
    visit.observe("cross-tenant-code", [wanted[str(exchange.code)]] if exchange.code in wanted else [], exchange)


def loose_bodies(visit: RunContext) -> None:
    """An unknown key, a null and an empty JSON body, met by the one POST that changes nothing."""
    unknown = visit.call("previewAudience", json={"mockserverVerify": True})
    refusals = ("VALIDATION_ERROR", "CAMPAIGN_INVALID_FILTERS")
    _taken_or_refused(visit, "unknown-body-keys", "ignore", "reject", unknown, ("VALIDATION_ERROR",))
    null = visit.call("previewAudience", json={"filters": None})
    _taken_or_refused(visit, "null-for-optional", "omit", "reject", null, refusals)
    # Whether the preview's body may be left out is not said; where it may not, an empty one tells nothing.
    if visit.call("previewAudience").succeeded:
        empty = visit.call("previewAudience", headers=JSON)
        _taken_or_refused(visit, "empty-json-body", "accept", "reject", empty, ("VALIDATION_ERROR",))


def _taken_or_refused(
    visit: RunContext, choice: str, taken: str, refused: str, exchange: Exchange, codes: tuple[str, ...]
) -> None:
    option = taken if exchange.succeeded else refused if exchange.code in codes else None
    visit.judge("base.input", option is not None, exchange, f"an answer, or {' or '.join(codes)}")
    visit.observe(choice, [option] if option else [], exchange)


def broken_json(visit: RunContext) -> None:
    """A body that is no JSON object fails its schema."""
    for body in (b"{", b"[]", b'"text"'):
        exchange = visit.call("previewAudience", body=body, headers=JSON)
        visit.refused("campaigns.validation", exchange, "VALIDATION_ERROR")


def whole_audience(visit: RunContext) -> None:
    exchange = visit.call("previewAudience", json={})
    visit.judge("audience.preview", size(exchange) >= 0, exchange, "estimatedCount, an integer of at least 0")
