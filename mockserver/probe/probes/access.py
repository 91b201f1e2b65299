"""Probes of keys, tenants and bodies: what calls that only read can show."""

from __future__ import annotations

from mockserver.probe.context import JSON_HEADERS, RunContext, Unexpected, require_success
from mockserver.probe.transport import Stop


def authentication(context: RunContext) -> None:
    """The first call shows whether the service accepts the key."""
    exchange = context.list_templates()
    if exchange.code is not None and exchange.status in (401, 403):
        raise Stop(f"the service refused the key: {exchange.code}")
    rows = require_success(exchange)["templates"]
    context.templates = [row for row in rows if isinstance(row, dict) and "id" in row]


def keys(context: RunContext) -> None:
    context.list_templates(key="none")
    context.preview_audience(json={}, key="none")
    context.list_templates(key="unknown")
    context.list_templates(key="unprefixed")


def public_key(context: RunContext) -> None:
    """Campaign and session endpoints take no public key."""
    context.list_campaigns(key="public")
    context.read_filter_schema(key="public")
    context.preview_audience(json={}, key="public")
    context.read_connection_session(context.unknown_id("connection_session"), key="public")


def other_tenant(context: RunContext) -> None:
    """Each key reads the records of the other one's tenant, which it must not find."""
    their_ids = {row["id"] for row in require_success(context.list_templates(key="other"))["templates"]}
    own_ids = {row["id"] for row in context.templates}
    if own_ids and own_ids == their_ids:
        raise Unexpected("both keys list the same templates, as two keys of one tenant do")
    context.other_templates = sorted(their_ids - own_ids)
    for id in context.other_templates[:2]:
        context.read_template(id)
    for id in sorted(own_ids - their_ids)[:2]:
        context.read_template(id, key="other")
    settings = context.settings
    for read, id in (
        (context.read_entrypoint, settings.entrypoint),
        (context.list_messages, settings.chat),
        (context.read_form_policy, settings.form),
    ):
        if id:
            read(id, key="other")


def loose_bodies(context: RunContext) -> None:
    """An unknown key, a null, no body and an empty JSON body, sent by the one POST that changes nothing."""
    context.preview_audience(json={"mockserverProbe": True})
    context.preview_audience(json={"filters": None})
    context.preview_audience()
    context.preview_audience(headers=JSON_HEADERS)


def broken_json(context: RunContext) -> None:
    """A body that is not a JSON object fails its schema."""
    for body in (b"{", b"[]", b'"text"'):
        context.preview_audience(body=body, headers=JSON_HEADERS)
