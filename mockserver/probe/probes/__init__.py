"""The table of probes, in the order of a run: the cheap ones that show most are first."""

from __future__ import annotations

from typing import Final

from mockserver.probe.context import Probe
from mockserver.probe.probes import access, campaigns, content, filters, sending, sessions

# fmt: off
PROBES: Final[tuple[Probe, ...]] = (
    Probe("authentication",       access.authentication),
    Probe("keys",                 access.keys),
    Probe("public key",           access.public_key,             ("public_key",)),
    Probe("templates",            content.template_details),
    Probe("unknown ids",          content.unknown_ids),
    Probe("entrypoint",           content.entrypoint,            ("entrypoint",)),
    Probe("form",                 content.form,                  ("form",)),
    Probe("messages",             content.messages,              ("chat",)),
    Probe("pages of messages",    content.pages,                 ("chat",)),
    Probe("existing campaigns",   campaigns.existing_campaigns),
    Probe("filter catalogue",     filters.catalog),
    Probe("loose bodies",         access.loose_bodies),
    Probe("broken bodies",        access.broken_json),
    Probe("other tenant",         access.other_tenant,           ("other_key",)),
    Probe("filter structure",     filters.structure),
    Probe("empty filters",        filters.emptiness),
    Probe("platforms",            filters.platforms),
    Probe("filter fields",        filters.fields),
    Probe("filter operators",     filters.operators),
    Probe("filter values",        filters.values),
    Probe("filter dates",         filters.dates),
    Probe("drafts",               campaigns.draft_at_every_limit, ("allow_writes",)),
    Probe("refused drafts",       campaigns.refused_bodies,      ("allow_writes",)),
    Probe("templates of drafts",  campaigns.templates,           ("allow_writes",)),
    Probe("templates of others",  campaigns.other_templates,     ("allow_writes", "other_key")),
    Probe("platform of drafts",   campaigns.platform,            ("allow_writes",)),
    Probe("filters of drafts",    campaigns.filters,             ("allow_writes",)),
    Probe("names and cancels",    campaigns.names_and_cancel,    ("allow_writes",)),
    Probe("sessions",             sessions.pending,              ("allow_writes",)),
    Probe("refused sessions",     sessions.refused_bodies,       ("allow_writes",)),
    Probe("funnels of sessions",  sessions.funnels,              ("allow_writes",)),
    Probe("sessions of others",   sessions.across_tenants,       ("allow_writes", "other_key")),
    Probe("refused media",        content.refused_media,         ("allow_writes",)),
    Probe("empty start",          sending.start,                 ("allow_writes", "allow_sends")),
    Probe("variables",            sending.variables,             ("allow_writes", "allow_sends")),
    Probe("extra variables",      sending.extra_variables,       ("allow_writes", "allow_sends")),
    Probe("unapproved template",  sending.unapproved_template,   ("allow_writes", "allow_sends")),
)
# fmt: on
