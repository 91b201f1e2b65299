"""
Lies of a service: each bends one answer or delivery of an honest life, in one sentence.

A row of `LIES` has the clause and the bent entry that the judge must name. A row of `UNSHOWN` has the reason why no recording
shows the lie. A row of `ALLOWED` is no lie: another service than the mock may behave so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mockserver._json import JSON
from tests.recordings.honest import Bent

Bend = Callable[[Bent], None]


class Lie(NamedTuple):
    """One lie: the sentence, the clause, the name of the bent entry, and how it is bent."""

    sentence: str
    clause: str
    at: str
    bend: Bend


class Unshown(NamedTuple):
    """A lie that a recording cannot show: the sentence, the reason, and how an answer would be bent."""

    sentence: str
    why: str
    bend: Bend


def put(name: str, *place: Any, value: Any) -> Bend:
    """Set a member of an answer."""
    return lambda life: life.change(name, lambda body: _put(body, place, value))


def put_event(name: str, *place: Any, value: Any) -> Bend:
    """Set a member of an event's data."""
    return lambda life: life.event(name, lambda body: _put(body["data"], place, value))


def _put(body: Any, place: Sequence[Any], value: Any) -> None:
    for key in place[:-1]:
        body = body[key]
    body[place[-1]] = value


def all_of(*bends: Bend) -> Bend:
    """Bend in several ways."""

    def bend(life: Bent) -> None:
        for one in bends:
            one(life)

    return bend


def send(name: str, /, **members: Any) -> Bend:
    """Change members of the body that a call sent."""

    def bend(life: Bent) -> None:
        posted = life.entries[name]["request"].get("postData", {"text": "{}"})
        life.send(name, json.loads(posted["text"]) | members)

    return bend


def where(field: str, operator: str, value: Any) -> JSON:
    """Return a group of filters with one statement."""
    return {"combinator": "and", "statements": [{"field": field, "operator": operator, "value": value}]}


def refuse(name: str, code: str, status: int = 422) -> Bend:
    """Answer with an error."""
    return lambda life: life.reply(name, {"statusCode": status, "code": code, "message": "Não."}, status)


def reply(name: str, body: Any, status: int = 200) -> Bend:
    """Answer with another body and status."""
    return lambda life: life.reply(name, body, status)


def drop(name: str) -> Bend:
    """Leave an entry out."""

    def bend(life: Bent) -> None:
        del life.entries[name]

    return bend


def rename(life: Bent) -> None:
    """Give the third campaign the name of the second, which was canceled before."""
    posted = life.entries["create C"]["request"]["postData"]
    posted["text"] = posted["text"].replace('"C"', '"B"')
    put("read C canceled", "name", value="B")(life)
    in_list("list 2", "C", "name", "B")(life)


def as_in(name: str, key: str, other: str, other_key: str) -> Bend:
    """Give a member of an answer the value of another answer's."""
    return lambda life: life.change(name, lambda body: body.update({key: life.answer(other)[other_key]}))


def list_edit(name: str, key: str, edit: Callable[[list[Any]], Any]) -> Bend:
    """Change a list of an answer."""
    return lambda life: life.change(name, lambda body: edit(body[key]))


def row_named(rows: list[Any], name: str) -> Any:
    return next(row for row in rows if row["name"] == name)


def in_list(name: str, campaign: str, key: str, value: Any) -> Bend:
    """Set a member of a campaign in a list."""
    return list_edit(name, "campaigns", lambda rows: row_named(rows, campaign).update({key: value}))


def cancel_instead(life: Bent) -> None:
    """Turn the refused second start into the refused cancel of a running campaign."""
    row = life.entries["start A again"]
    row["request"]["url"] = row["request"]["url"].replace("/start", "/cancel")
    refuse("start A again", "UNPROCESSABLE_REQUEST")(life)


def copy_answer(name: str, other: str) -> Bend:
    """Answer as another call was answered."""
    return lambda life: life.reply(name, life.answer(other), life.entries[other]["response"]["status"])


def swap_pages(life: Bent) -> None:
    """Exchange the records of the second and the third page."""
    two, three = life.answer("page 2"), life.answer("page 3")
    life.reply("page 2", two | {"records": three["records"]})
    life.reply("page 3", three | {"records": two["records"]})


HOUR_AGO = "2026-03-01T11:00:00.000Z"
RUN = ("executions", 0)
# fmt: off
# Each is shown by one answer alone.
OF_ANSWERS: Sequence[Lie] = (
    Lie("The creation of a session answers 201", "base.success", "connect 1", lambda life: life.reply("connect 1", life.answer("connect 1"), 201)),
    Lie("An error has a stack", "base.error-body", "start B badly", put("start B badly", "stack", value="at handler")),
    Lie("An error has the status of another one", "base.error-catalog", "create D badly", refuse("create D badly", "CAMPAIGN_NOT_FOUND", 400)),
    Lie("An error is in English", "base.error-portuguese", "start B badly", put("start B badly", "message", value="The variables are missing")),
    Lie("A session contains a token", "session.no-secrets", "session 1 pending", put("session 1 pending", "accessToken", value="abc")),
    Lie("An estimate is a text", "audience.preview", "preview", put("preview", "estimatedCount", value="87")),
)
LIES: Sequence[Lie] = (
    Lie("The id of a listed campaign lacks its prefix", "base.ids", "list 2", in_list("list 2", "C", "id", "c7")),
    Lie("The filter schema lacks a field", "filters.schema", "schema", reply("schema", {"fields": ["chat.status"]})),
    Lie("A call without a key is accepted", "auth.header", "schema, no key", reply("schema, no key", {})),
    Lie("A public key reads the filter schema", "auth.secret-only", "schema, public key", reply("schema, public key", {})),
    # campaigns
    Lie("A campaign that was started is a draft", "start.response", "read A 2", put("read A 2", "status", value="draft")),
    Lie("A completed campaign is processing later", "campaigns.status-values", "list 2", in_list("list 2", "A", "status", "processing")),
    Lie("A completed campaign has failed later", "campaigns.status-values", "list 2", in_list("list 2", "A", "status", "failed")),
    Lie("A canceled campaign is a draft", "cancel.processing", "read B canceled", put("read B canceled", "status", value="draft")),
    Lie("A campaign that is a draft has an execution", "start.response", "read A 1", put("read A 1", "status", value="draft")),
    Lie("A second start succeeds", "start.once", "start A again", reply("start A again", {"executionId": "execution_2", "status": "processing"}, 202)),
    Lie("A canceled campaign starts", "start.not-draft", "start C after cancel", reply("start C after cancel", {"executionId": "execution_2", "status": "processing"}, 202)),
    Lie("The start of a draft is refused because it is not a draft", "start.not-draft", "start B badly", refuse("start B badly", "CAMPAIGN_NOT_DRAFT")),
    Lie("The start of a draft is refused because it is processing", "start.already", "start B badly", refuse("start B badly", "CAMPAIGN_ALREADY_PROCESSING")),
    Lie("A refused start has started the campaign", "start.refused-changes-nothing", "read B", put("read B", "status", value="processing")),
    Lie("A running campaign cannot be canceled", "cancel.processing", "start A again", cancel_instead),
    Lie("A cancel succeeds, and the campaign goes on", "cancel.processing", "cancel A completed", all_of(
        reply("cancel A completed", None, 204), put("read A late", *RUN, "completedAt", value="2026-03-01T12:03:30.000Z"))),
    Lie("A campaign reads back another name", "campaigns.name", "read A 1", put("read A 1", "name", value="Outra")),
    Lie("A campaign reads back another cadence", "campaigns.cadence-kept", "read A 1", put("read A 1", "cadence", value=61)),
    Lie("A campaign reads back another platform", "campaigns.platform", "read A 1", put("read A 1", "platform", value="photoapp")),
    Lie("A campaign reads back another template", "campaigns.template", "read A 1", put("read A 1", "templateId", value="template_official")),
    Lie("A campaign reads back no description", "campaigns.description", "list 1", in_list("list 1", "A", "description", None)),
    Lie("Two campaigns get one name", "campaigns.name", "create B again", reply("create B again", {"campaignId": "campaign_2", "status": "draft"}, 201)),
    Lie("Two drafts in a list have one name", "campaigns.name", "list 1", in_list("list 1", "A", "name", "B")),
    Lie("A name is refused that no campaign has", "campaigns.name", "create D badly", refuse("create D badly", "CAMPAIGN_NAME_ALREADY_EXISTS", 400)),
    Lie("A refused creation is in the list", "campaigns.create", "list 1", list_edit("list 1", "campaigns", lambda rows: rows.append(rows[0] | {"id": "campaign_2", "name": "D"}))),
    Lie("A created campaign is missing in the list", "campaigns.list", "list 1", list_edit("list 1", "campaigns", lambda rows: rows.pop())),
    Lie("A campaign is in the list twice", "campaigns.list", "list 1", list_edit("list 1", "campaigns", lambda rows: rows.append(rows[0]))),
    Lie("A campaign is unknown after its creation", "campaigns.detail", "read A 2", refuse("read A 2", "CAMPAIGN_NOT_FOUND", 404)),
    Lie("A campaign cannot be started because it is unknown", "start.unknown", "start A", refuse("start A", "CAMPAIGN_NOT_FOUND", 404)),
    Lie("A campaign cannot be canceled because it is unknown", "cancel.unknown", "cancel B", refuse("cancel B", "CAMPAIGN_NOT_FOUND", 404)),
    Lie("A read shows another campaign", "campaigns.detail", "read A 1", as_in("read A 1", "id", "create B", "campaignId")),
    # bodies, templates and filters
    Lie("A cadence of 0 is accepted", "campaigns.cadence", "create D badly", reply("create D badly", {"campaignId": "campaign_2", "status": "draft"}, 201)),
    Lie("A creation without a cadence is accepted", "campaigns.validation", "create C", lambda life: life.send(
        "create C", {"name": "C", "platform": "chatapp", "templateId": "template_hello"})),
    Lie("A name of 101 characters is accepted", "campaigns.name", "create C", send("create C", name="C" * 101)),
    Lie("A description of 2001 characters is accepted", "campaigns.description", "create C", send("create C", description="C" * 2001)),
    Lie("An unknown platform is accepted", "campaigns.platform", "create C", send("create C", platform="botapp")),
    Lie("A number is accepted as a variable", "start.common-variables", "start C", send("start C", commonVariables={"var1": 1})),
    Lie("A start without a required variable is accepted", "start.missing-variables", "start B badly", reply("start B badly", {"executionId": "execution_2", "status": "processing"}, 202)),
    Lie("A start with all variables is refused for them", "start.missing-variables", "start B badly", send("start B badly", commonVariables={"var1": "DEZ"})),
    Lie("A cancel without a body is refused for its body", "cancel.no-body", "cancel B", refuse("cancel B", "VALIDATION_ERROR", 400)),
    Lie("The cancel of a draft is refused because it is not a draft", "cancel.draft", "cancel B", all_of(
        refuse("cancel B", "CAMPAIGN_NOT_DRAFT"), put("read B canceled", "status", value="draft"), in_list("list 2", "B", "status", "draft"))),
    Lie("The cancel of an ended campaign is refused because it is processing", "cancel.final", "cancel A completed", refuse("cancel A completed", "CAMPAIGN_ALREADY_PROCESSING")),
    Lie("An official template is accepted with chatapp_lite", "campaigns.template-mismatch", "create C", send("create C", platform="chatapp_lite", templateId="template_official")),
    Lie("An internal template is refused with chatapp", "campaigns.template-mismatch", "create C", refuse("create C", "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", 400)),
    Lie("A template that is listed is unknown at a creation", "campaigns.template", "create C", refuse("create C", "MESSAGE_TEMPLATE_NOT_FOUND", 404)),
    Lie("A template that is listed is unknown to a read", "templates.unknown", "template", refuse("template", "MESSAGE_TEMPLATE_NOT_FOUND", 404)),
    Lie("The items of a template begin with order 1", "templates.items", "template", put("template", "items", 0, "order", value=1)),
    Lie("A variable is not called varN", "templates.common-variables", "template", put("template", "commonVariables", 0, "key", value="nome")),
    Lie("An operator of another type is accepted", "filters.operators", "preview", send("preview", filters=[where("chat.isAnswered", "contains", "x")])),
    Lie("A value of another type is accepted", "filters.types", "preview", send("preview", filters=[where("chat.monetization", "equals", "10")])),
    Lie("The preview refuses filters that a creation accepts", "audience.same-filters", "preview", refuse("preview", "CAMPAIGN_INVALID_FILTERS")),
    # executions
    Lie("The sent messages become fewer", "send.counts", "poll A 2", put("poll A 2", "sentCount", value=5)),
    Lie("The failed messages become fewer", "send.counts", "read A 2", put("read A 2", *RUN, "failedCount", value=2)),
    Lie("More are sent and failed than there are targets", "send.counts", "poll A 2", put("poll A 2", "failedCount", value=33)),
    Lie("The target moves while the campaign runs", "start.audience-fixed", "poll A 2", put("poll A 2", "targetCount", value=91)),
    Lie("An execution is completed before all was sent", "send.completed", "read A completed", put("read A completed", *RUN, "sentCount", value=86)),
    Lie("The progress is not that of the counts", "send.progress", "poll A 1", put("poll A 1", "progress", value=50)),
    Lie("The progress is 99 when all is done", "send.progress", "poll A completed", put("poll A completed", "progress", value=99)),
    Lie("More is sent than the cadence allows since the start", "send.cadence", "poll A 1", put("poll A 1", "sentCount", value=57)),
    Lie("More is sent than the cadence allows between two reads", "send.cadence", "poll A 1", put("poll A 1", "sentCount", value=0)),
    Lie("A campaign completes sooner than its cadence allows", "send.cadence", "read A completed", put("read A completed", *RUN, "completedAt", value="2026-03-01T12:01:05.000Z")),
    Lie("The start of an execution moves", "campaigns.detail-executions", "read A 2", put("read A 2", *RUN, "startedAt", value="2026-03-01T11:59:00.000Z")),
    Lie("An execution began an hour before its start", "campaigns.detail-executions", "read C canceled", put("read C canceled", *RUN, "startedAt", value=HOUR_AGO)),
    Lie("An execution completed before it started", "campaigns.detail-executions", "read C canceled", put("read C canceled", *RUN, "completedAt", value=HOUR_AGO)),
    Lie("An execution that runs has a completedAt", "campaigns.detail-executions", "read A 1", put("read A 1", *RUN, "completedAt", value="2026-03-01T12:00:00.000Z")),
    Lie("A completed execution has no completedAt", "send.completed", "read A completed", put("read A completed", *RUN, "completedAt", value=None)),
    Lie("An execution ended in the future", "campaigns.detail-executions", "read C canceled", put("read C canceled", *RUN, "completedAt", value="2026-03-01T13:00:00.000Z")),
    Lie("The end of an execution moves", "campaigns.detail-executions", "read A late", put("read A late", *RUN, "completedAt", value="2026-03-01T12:02:00.000Z")),
    Lie("The end of an execution is forgotten", "campaigns.detail-executions", "read A late", put("read A late", *RUN, "completedAt", value=None)),
    Lie("An execution is missing in its campaign", "campaigns.detail-executions", "read A 2", put("read A 2", "executions", value=[])),
    Lie("An execution is unknown after its start", "execution.read", "poll A 2", refuse("poll A 2", "RESOURCE_NOT_FOUND", 404)),
    Lie("A read shows another execution", "execution.read", "poll A 2", as_in("poll A 2", "id", "start C", "executionId")),
    Lie("The execution of a completed campaign is canceled", "send.completed", "read A completed", all_of(
        *(put(f"poll A {when}", "status", value="canceled") for when in ("completed", "late")),
        *(put(f"read A {when}", *RUN, "status", value="canceled") for when in ("completed", "late")))),
    Lie("A completed execution is processing later", "campaigns.status-values", "poll A late", put("poll A late", "status", value="processing")),
    Lie("A completed execution has failed later", "campaigns.status-values", "poll A late", put("poll A late", "status", value="failed")),
    Lie("An execution is that of two campaigns", "campaigns.detail-executions", "read C canceled",
        lambda life: life.change("read C canceled", lambda body: body["executions"][0].update(id=life.answer("start A")["executionId"]))),
    # sessions
    Lie("A session lives for thirty minutes", "session.expires-at", "connect 1", put("connect 1", "expiresAt", value="2026-03-01T12:33:10.000Z")),
    Lie("A completed session is pending again", "session.final", "session 1 again", all_of(
        put("session 1 again", "status", value="pending"), put("session 1 again", "entrypoint", value=None))),
    Lie("A completed session has failed later", "session.final", "session 1 again", put("session 1 again", "status", value="failed")),
    Lie("A completed session has no entrypoint", "session.completed", "session 1 completed", put("session 1 completed", "entrypoint", value=None)),
    Lie("A pending session has an entrypoint", "session.read", "session 2 pending", put("session 2 pending", "entrypoint", value={"id": "entrypoint_2"})),
    Lie("The entrypoint of a completed session changes", "session.final", "session 1 again", put("session 1 again", "entrypoint", "phoneNumberId", value="1")),
    Lie("The step is not that of the creation", "session.completed", "session 3 completed", all_of(
        put("session 3 completed", "entrypoint", "funnelStepId", value="funnel_step_2"), put_event("event 3", "entrypoint", "funnelStepId", value="funnel_step_2"))),
    Lie("The coexistence is not that of the creation", "session.coexistence", "session 3 completed", all_of(
        put("session 3 completed", "entrypoint", "isCoexistence", value=True), put_event("event 3", "entrypoint", "isCoexistence", value=True))),
    Lie("Two sessions created one entrypoint", "session.completed", "session 3 completed",
        lambda life: life.change("session 3 completed", lambda body: body["entrypoint"].update(id=life.answer("session 1 completed")["entrypoint"]["id"]))),
    Lie("The reason of a failure changes", "session.final", "session 2 again", put("session 2 again", "reason", value="phone_in_use")),
    Lie("A session failed because it expired", "session.failed", "session 2 failed", put("session 2 failed", "reason", value="expired")),
    Lie("A session expires before its deadline", "session.expired", "session 2 failed", all_of(
        put("session 2 failed", "status", value="expired"), put("session 2 failed", "reason", value="expired"))),
    Lie("A session is pending long after its deadline", "session.expired", "session 4 late", all_of(
        drop("event 4"),
        *(put(f"session 4 {when}", "status", value="pending") for when in ("expired", "again", "late")))),
    Lie("Two sessions have one url", "session.url", "connect 2", as_in("connect 2", "url", "connect 1", "url")),
    Lie("The url of a session is its id", "session.url", "connect 2", as_in("connect 2", "url", "connect 2", "sessionId")),
    Lie("A session is unknown before its deadline", "session.read", "session 1 pending", refuse("session 1 pending", "RESOURCE_NOT_FOUND", 404)),
    Lie("A read shows another session", "session.read", "session 2 pending", as_in("session 2 pending", "sessionId", "connect 3", "sessionId")),
    Lie("A session with an unknown property is accepted", "session.no-extra", "connect 4", send("connect 4", note="x")),
    Lie("A funnel without a step is accepted", "session.funnel-pair", "connect 4", send("connect 4", funnelId="funnel_1")),
    Lie("A text is accepted as coexistence", "session.coexistence", "connect 4", send("connect 4", coexistence="yes")),
    Lie("An http url is accepted to return to", "session.return-url", "connect 4", send("connect 4", returnUrl="http://app.example/")),
    # events
    Lie("The event of a completed session is one of a failure", "events.failed", "event 1", lambda life: life.event("event 1", lambda body: body.update(
        event="entrypoints.chatapp.connection_failed", data={"sessionId": body["data"]["sessionId"], "status": "failed", "reason": "phone_in_use"}))),
    Lie("The event of a failed session is one of a success", "events.connected", "event 2", lambda life: life.event("event 2", lambda body: body.update(
        event="entrypoints.chatapp.connected"))),
    Lie("A session has two events that differ", "events.once", "event 4", lambda life: life.event("event 4", lambda body: body["data"].update(
        sessionId=life.answer("connect 3")["sessionId"]))),
    Lie("The entrypoint of an event is not the session's", "events.connected", "event 1", put_event("event 1", "entrypoint", "displayPhone", value="+5511900000000")),
    Lie("The reason of an event is not the session's", "session.final", "event 2", put_event("event 2", "reason", value="phone_in_use")),
    Lie("A session completed before it was created", "events.connected", "event 1", put_event("event 1", "occurredAt", value=HOUR_AGO)),
    Lie("A session completed after its deadline", "session.expired", "event 1", put_event("event 1", "occurredAt", value="2026-03-01T12:30:00.000Z")),
    Lie("Events of one key name two tenants", "base.tenant-scope", "event 3", put_event("event 3", "tenantId", value="tenant_2")),
    Lie("A session is pending after its event", "session.final", "session 1 completed", all_of(
        put("session 1 completed", "status", value="pending"), put("session 1 completed", "entrypoint", value=None))),
    # ids, templates, messages
    Lie("Two campaigns get one id", "base.ids", "create C", as_in("create C", "campaignId", "create A", "campaignId")),
    Lie("Two sessions get one id", "base.ids", "connect 2", as_in("connect 2", "sessionId", "connect 1", "sessionId")),
    Lie("A session gets the id of a campaign", "base.ids", "connect 2", as_in("connect 2", "sessionId", "create A", "campaignId")),
    Lie("A template is in the list twice", "templates.list", "templates 1", list_edit("templates 1", "templates", lambda rows: rows.append(rows[0]))),
    Lie("The creation of a template moves", "templates.list", "templates 2", list_edit("templates 2", "templates", lambda rows: rows[0].update(createdAt=HOUR_AGO))),
    Lie("The update of a template goes back", "templates.list", "templates 2", list_edit("templates 2", "templates", lambda rows: rows[0].update(updatedAt=HOUR_AGO))),
    Lie("An approved template is not official", "templates.official", "templates 1", list_edit("templates 1", "templates", lambda rows: rows[0].update(providerTemplateStatus="APPROVED"))),
    Lie("A read shows another template", "templates.detail", "template", put("template", "id", value="template_hello")),
    Lie("A read shows another entrypoint", "entrypoints.read", "entrypoint", put("entrypoint", "entrypoint", "id", value="entrypoint_2")),
    Lie("The messages of a page are oldest first", "messages.list", "page 1", list_edit("page 1", "records", lambda rows: rows.reverse())),
    Lie("A later page has newer messages", "messages.list", "page 2", swap_pages),
    Lie("The creation of a message moves", "messages.record", "page 1", list_edit("page 1", "records", lambda rows: rows[0].update(createdAt="2026-03-01T10:05:01.000Z"))),
)

UNSHOWN: Sequence[Unshown] = (
    Unshown("An audience is counted wrongly", "a recording does not show the chats of an audience", all_of(
        put("read C canceled", *RUN, "targetCount", value=80), put("poll C", "targetCount", value=80), put("poll C", "progress", value=13))),
    Unshown("A campaign sends more slowly than its cadence", "a platform's ceiling is open, and the cadence is what the service tries",
            all_of(
            put("poll C", "sentCount", value=5), put("poll C", "progress", value=5), put("read C canceled", *RUN, "sentCount", value=5))),
    Unshown("A message counts as sent that no chat got", "the messages of every chat would have to be listed", put("template", "name", value="outro")),
    Unshown("A campaign is canceled that no call canceled", "another caller may have canceled it", all_of(
        *(put(f"poll A {when}", "status", value="canceled") for when in ("completed", "late")),
        *(put(f"read A {when}", "status", value="canceled") for when in ("completed", "late")),
        *(put(f"read A {when}", *RUN, "status", value="canceled") for when in ("completed", "late")), in_list("list 2", "A", "status", "canceled"))),
    Unshown("The cancel of an ended campaign succeeds", "cancel-final has that option", reply("cancel A completed", None, 204)),
    Unshown("A name is taken twice after a cancel", "name-uniqueness-scope has that option", rename),
    Unshown("A session fails for a reason that is not true", "only the end user and the provider know the reason", all_of(
        *(put(f"session 2 {when}", "reason", value="phone_in_use") for when in ("failed", "again")), put_event("event 2", "reason", value="phone_in_use"))),
    Unshown("An event is never sent", "a recording may lack deliveries", drop("event 1")),
    Unshown("An event is signed with another secret", "a recording has no secrets",
            lambda life: life.entries["event 1"]["request"]["headers"].append({"name": "webhook-signature", "value": "v1,AAAA"})),
    Unshown("An event is sent again after a 2xx", "the document does not show the rules of repetition",
            lambda life: life.entries.update({"event 5": life.entries["event 1"]})),
    Unshown("A variable has no placeholder", "a variable may be one that no text uses", put("template", "commonVariables", 0, "key", value="var2")),
    Unshown("A template is in another order", "the order of templates is the choice list-order", list_edit("templates 2", "templates", lambda rows: rows.reverse())),
    Unshown("A template disappears", "templates are edited outside of the API", list_edit("templates 2", "templates", lambda rows: rows.pop())),
    Unshown("A message is on two pages, although none arrived", "page-stability has that option", lambda life: life.change(
        "page 2", lambda body: body["records"].insert(0, life.answer("page 1")["records"][1]))),
    Unshown("A message is on no page, although it is there before and after", "pages of different times are not compared", list_edit("page 2", "records", lambda rows: rows.pop(0))),
    Unshown("The chat of a message is another one's", "messages do not name their chat", put("page 3", "records", 0, "text", value="De outra pessoa")),
    Unshown("A session is pending at the first read after its deadline", "expiry-driver and state-vs-event-order have such options", all_of(
        drop("event 4"), put("session 4 expired", "status", value="pending"))),
    Unshown("Two files get one id", "a service may store equal files once", copy_answer("upload 2", "upload 1")),
    Unshown("A file is stored as another one", "a recording lacks what the url of a file serves", put("upload 1", 0, "url", value="http://mockserver.test/media/2")),
)
ALLOWED: Sequence[Unshown] = (
    Unshown("Sending begins twenty seconds after the start", "the document does not show how soon it begins", all_of(
        *(put(f"read A {when}", *RUN, "startedAt", value="2026-03-01T12:00:20.000Z") for when in ("2", "completed", "late")),
        *(put(f"read A {when}", *RUN, "completedAt", value="2026-03-01T12:01:49.000Z") for when in ("completed", "late")),
        drop("read A 1"), put("read A 2", *RUN, "sentCount", value=38), put("poll A 1", "sentCount", value=8), put("poll A 1", "progress", value=12),
        put("poll A 2", "sentCount", value=38), put("poll A 2", "progress", value=45))),
    Unshown("Sends are made every five seconds", "even is not exact", all_of(put("poll A 1", "sentCount", value=32), put("poll A 1", "progress", value=38))),
    Unshown("A name is trimmed", "the document does not show whether texts are trimmed", send("create A", name=" A ")),
    Unshown("An empty description is null", "the document does not show how an empty one is stored", send("create B", description="")),
    Unshown("A list has pages of ten", "the document does not show the parameters of lists", list_edit("list 2", "campaigns", lambda rows: rows.__setitem__(
        slice(None), [rows[0] | {"id": f"campaign_{n}", "name": f"N{n}"} for n in range(10)]))),
    Unshown("A list has a cursor", "the document does not show the parameters of lists", all_of(
        list_edit("list 2", "campaigns", lambda rows: rows.pop()), put("list 2", "nextCursor", value="abc"))),
    Unshown("A canceled campaign counts as processing for a start", "execution-status-lag: its execution may still be active", refuse("start C after cancel", "CAMPAIGN_ALREADY_PROCESSING")),
    Unshown("The cancel of a draft is refused", "cancel-draft has that option", all_of(
        refuse("cancel B", "UNPROCESSABLE_REQUEST"), put("read B canceled", "status", value="draft"), in_list("list 2", "B", "status", "draft"))),
    Unshown("Sends go on after a cancel", "what is queued may still be processed", all_of(put("poll C", "sentCount", value=12), put("poll C", "progress", value=13))),
    Unshown("The execution of a canceled campaign completes with its last send", "the document does not show the execution's own end", all_of(
        *(put(name, *place, key, value=value) for name, place in (("read C canceled", RUN), ("poll C", ())) for key, value in (("status", "completed"), ("targetCount", 11))),
        put("poll C", "progress", value=100))),
    Unshown("A canceled execution has no completedAt", "completedAt-on-cancel-fail has that option", put("read C canceled", *RUN, "completedAt", value=None)),
    Unshown("A connected channel gets another name", "channels are renamed outside of the API", put("session 1 again", "entrypoint", "name", value="Outro")),
    Unshown("A step brings its funnel with it", "the document does not show a step without its funnel", all_of(
        send("connect 3", funnelStepId="funnel_step_1"),
        *(put("session 3 completed", "entrypoint", key, value=value) for key, value in (("funnelId", "funnel_1"), ("funnelStepId", "funnel_step_1"))),
        *(put_event("event 3", "entrypoint", key, value=value) for key, value in (("funnelId", "funnel_1"), ("funnelStepId", "funnel_step_1"))))),
    Unshown("A template is edited", "templates are edited outside of the API", list_edit("templates 2", "templates", lambda rows: rows[0].update(
        name="Outro", updatedAt="2026-03-01T12:30:00.000Z"))),
    Unshown("A message arrives between two pages and shifts them", "page-stability has that option", all_of(
        lambda life: life.change("page 2", lambda body: body["records"].insert(0, life.answer("page 1")["records"][1])),
        list_edit("all messages again", "records", lambda rows: rows.insert(0, rows[0] | {"id": "message_9", "createdAt": "2026-03-01T12:40:00.000Z"})))),
    Unshown("The status of a message moves", "messages have no documented lifecycle", list_edit("all messages again", "records", lambda rows: rows[0].update(status="read"))),
)
# fmt: on
