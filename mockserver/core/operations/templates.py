"""Message templates: list and read, and the text of a template for one recipient. No call changes a template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.instants import to_datetime
from mockserver.core.state.calls import Call, Success
from mockserver.core.state.records import Chat, Template, Variable
from mockserver.core.state.sandbox import Scope, require_record, unknown_record

_PLACEHOLDER = re.compile(r"\{\{([1-9][0-9]*)\}\}")


def list_templates(scope: Scope, call: Call) -> Success:
    """Every template of the tenant, in order of creation; the edge turns the order by choice (templates.list)."""
    return Success(tuple(scope.tenant.templates.values()))


def read_template(scope: Scope, call: Call) -> Success:
    """One template with its items and manual variables; MESSAGE_TEMPLATE_NOT_FOUND for an unknown id."""
    return Success(
        require_record(
            scope,
            "template",
            call.params["id"],
            code="MESSAGE_TEMPLATE_NOT_FOUND",
        )
    )


def for_campaign(scope: Scope, template_id: str, *, at: str) -> Template:
    """
    Return the template of a campaign; raises ApiError with the code of `template-not-found-code` for an unknown id.

    So does another tenant's id, whatever `cross-tenant-code` is: the endpoint has its own rule for it (campaigns.template).
    """
    code = {
        "message-template": "MESSAGE_TEMPLATE_NOT_FOUND",
        "campaign-template": "CAMPAIGN_TEMPLATE_NOT_FOUND",
    }[str(scope.sandbox.choices["template-not-found-code"])]
    template = scope.tenant.templates.get(template_id)
    if template is not None:
        return template
    raise unknown_record(scope, "template", template_id, code=code, clause="campaigns.template", at=at)


def declared_variables(entries: Sequence[Mapping[str, Any]]) -> tuple[Variable, ...]:
    """Return the variables of a template from their entries in seed data or in a rule."""
    return tuple(
        Variable(entry["key"], entry.get("label", entry["key"]), entry.get("required", False), entry.get("source"))
        for entry in entries
    )


def render(template: Template, values: Mapping[str, str], chat: Chat, text: str) -> str:
    """
    Return the text as this chat's recipient receives it.

    A manual variable has its value, empty if an optional one is missing; an automatic one has the chat's data, empty if
    the chat has none. A placeholder that no variable declares is automatic without data.
    """
    sources = {variable.key: variable.source for variable in template.variables}

    def fill(placeholder: re.Match[str]) -> str:
        key = f"var{placeholder[1]}"
        source = sources.get(key)
        if source is not None:
            return chat_data(chat, source)
        return values.get(key, "") if key in sources else ""

    return _PLACEHOLDER.sub(fill, text)


def chat_data(chat: Chat, source: str) -> str:
    """Return a chat's value for an automatic variable: chat.name, chat.contact, chat.birthDate or custom.NAME."""
    attributes = chat.attributes
    if source.startswith("custom."):
        return attributes.custom.get(source.removeprefix("custom."), "")
    if source == "chat.birthDate":  # as dd/mm/yyyy (fixed decision `campaign-message-shape`)
        born = attributes.birth_date
        return "" if born is None else "{0.day:02}/{0.month:02}/{0.year:04}".format(to_datetime(born))
    return {"chat.name": attributes.name, "chat.contact": attributes.contact}[source] or ""
