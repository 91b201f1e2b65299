"""The table of probes, in the order of a run: the cheap ones that show most are first."""

from __future__ import annotations

from typing import Final

from mockserver.probe.context import Probe
from mockserver.probe.probes import access, campaigns, content, filters, sending, sessions

# fmt: off
PROBES: Final[tuple[Probe, ...]] = (
    Probe("authentication",       access.authentication),
    Probe("unknown path",         access.unknown_path),
    Probe("keys",                 access.keys),
    Probe("public key",           access.public_key,             ("public-key",)),
    Probe("templates",            content.template_details),
    Probe("unknown template",     content.unknown_template),
    Probe("unknown ids",          content.unknown_ids),
    Probe("unknown session",      sessions.unknown),
    Probe("entrypoint",           content.entrypoint,            ("entrypoint",)),
    Probe("form",                 content.form,                  ("form",)),
    Probe("form by public key",   access.public_form,            ("form", "public-key")),
    Probe("messages",             content.messages,              ("chat",)),
    Probe("pages of messages",    content.pages,                 ("chat",)),
    Probe("existing campaigns",   campaigns.existing_campaigns),
    Probe("filter catalogue",     filters.catalog),
    Probe("audience",             access.audience_without_filters),
    Probe("loose bodies",         access.loose_bodies),
    Probe("broken bodies",        access.broken_json),
    Probe("other tenant",         access.other_tenant,           ("other-key",)),
    Probe("filter structure",     filters.structure),
    Probe("empty filters",        filters.emptiness),
    Probe("platforms",            filters.platforms),
    Probe("filter fields",        filters.fields),
    Probe("filter operators",     filters.operators),
    Probe("filter values",        filters.values),
    Probe("filter dates",         filters.dates),
    Probe("drafts",               campaigns.draft_at_every_limit, ("writes",)),
    Probe("refused drafts",       campaigns.refused_bodies,      ("writes",)),
    Probe("templates of drafts",  campaigns.templates,           ("writes",)),
    Probe("templates of others",  campaigns.other_templates,     ("writes", "other-key")),
    Probe("platform of drafts",   campaigns.platform,            ("writes",)),
    Probe("filters of drafts",    campaigns.filters,             ("writes",)),
    Probe("names and cancels",    campaigns.names_and_cancel,    ("writes",)),
    Probe("sessions",             sessions.pending,              ("writes",)),
    Probe("refused sessions",     sessions.refused_bodies,       ("writes",)),
    Probe("funnels of sessions",  sessions.funnels,              ("writes",)),
    Probe("nulls of sessions",    sessions.nulls,                ("writes",)),
    Probe("sessions of others",   sessions.across_tenants,       ("writes", "other-key")),
    Probe("refused media",        content.refused_media,         ("writes",)),
    Probe("empty start",          sending.start,                 ("writes", "sends")),
    Probe("variables",            sending.variables,             ("writes", "sends")),
    Probe("extra variables",      sending.extra_variables,       ("writes", "sends")),
    Probe("unapproved template",  sending.unapproved_template,   ("writes", "sends")),
)
# fmt: on
