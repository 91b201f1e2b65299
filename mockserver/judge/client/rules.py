"""
The table of the rules of conduct, one row per kind of client bug, and the types of the conduct report.

1. A finding cites the exchanges that prove it; without proof there is no finding.
2. The report lists each rule that the run does not show, with the reason: the absence of a finding proves nothing about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class ConductRule(NamedTuple):
    """
    One row of the table: a kind of bug that real clients have.

    Attributes:
        id: Name of the rule.
        severity: 1 (money, spam, security), 2 (wrong state) or 3 (noise).
        sources: What shows the bug, most important first: J the journal, W the answers of a webhook receiver, P visits
            to the hosted page, D the same task under two sets of choices, H the client's own test.
        clause: Clause of the API document that the client breaks.
        line: Lines of the API document.
        proof: The calls that prove it.
        advice: What the client should do instead.
    """

    id: str
    severity: int
    sources: str
    clause: str
    line: str
    proof: str
    advice: str


class Proof(NamedTuple):
    """Proof of a judge: a sentence, and the numbers of the exchanges that it cites."""

    message: str
    exchanges: Sequence[int] = ()


class NotAssessable(NamedTuple):
    """Reason for which a judge has no verdict."""

    why: str


class Finding(NamedTuple):
    """One violation of a rule by the client, with the exchanges that prove it."""

    rule: str
    severity: int
    message: str
    exchanges: tuple[int, ...]
    clause: str
    line: str
    advice: str


def cited_calls(numbers: Sequence[int], most: int, more: str = "") -> str:
    """Return the calls that a finding cites, as the end of a line: the first ones, and how many more there are."""
    shown = ", ".join(f"#{number}" for number in numbers[:most])
    return f" ({'call' if len(numbers) == 1 else 'calls'} {shown}{more})" if numbers else ""


class NotAssessed(NamedTuple):
    """A rule that this run does not show, and why."""

    rule: str
    why: str


class ConductResult(NamedTuple):
    """The findings, the most severe first, and what was not assessed, in the table's order."""

    findings: tuple[Finding, ...]
    not_assessed: tuple[NotAssessed, ...]


_NO_TEXT = "advice.code-not-message"

# fmt: off
_CAMPAIGNS = (
    ConductRule(id="duplicate-start",          severity=1, sources="J",  clause="advice.read-before-restart",  line="L300",       proof="a start whose predecessor on the same campaign got no answer, and no read of the campaign in between",                 advice="After a start without an answer read the campaign; start it again only while it is a draft."),
    ConductRule(id="clone-after-conflict",     severity=1, sources="J",  clause="start.not-draft",             line="L296-L297",  proof="a start was refused as already done, then an equal campaign with a similar name was created and started",              advice="Treat CAMPAIGN_ALREADY_PROCESSING and CAMPAIGN_NOT_DRAFT as a start that took effect: read the campaign."),
    ConductRule(id="rename-after-lost-create", severity=1, sources="J",  clause="campaigns.name",              line="L272",       proof="a create without an answer or with a taken name, then an equal campaign with a similar name, both started", advice="After a create without an answer look for the name among the campaigns before you create another."),
    ConductRule(id="blind-post-retry",         severity=1, sources="J",  clause="start.once",                  line="L300",       proof="the same start again within a minute of a 5xx; the same create, if its name was taken and never looked for",           advice="Exclude POST from the retry middleware; first read what the failed call has changed."),
    ConductRule(id="no-timeout",               severity=2, sources="JH", clause="base.internal",               line="L421",       proof="the client waited for a response that was delayed by two minutes or more",                                             advice="Set a timeout on every call."),
    ConductRule(id="poll-after-final",         severity=3, sources="J",  clause="advice.poll-execution",       line="L288",       proof="two or more reads of an execution or session, six of a campaign, after its final status was returned",                 advice="Stop at completed, failed or canceled; one last read is enough."),
    ConductRule(id="poll-too-fast",            severity=3, sources="J",  clause="advice.poll-execution",       line="L288, L372", proof="a median gap between polls that succeed below 10 s for an execution or campaign, 2 s for a session",                   advice="Poll an execution every 10-30 s and a session every 2-5 s."),
    ConductRule(id="poll-final-set-incomplete", severity=2, sources="J",  clause="advice.poll-execution",       line="L288",       proof="three or more reads of an execution, six of a campaign, after failed or canceled was returned; for a minute after a cancel none counts", advice="End the loop at each final status, not at completed alone."),
    ConductRule(id="poll-dies-on-error",       severity=2, sources="J",  clause="advice.poll-execution",       line="L288",       proof="the last poll, or the last two, got a 5xx, a 429 or no answer, the status before was not final, and no call followed", advice="One failed poll is not the end: wait and poll again."),
    ConductRule(id="ignore-retry-after",       severity=2, sources="J",  clause="advice.back-off",             line="L436",       proof="the same call before the 429's Retry-After was over, or, without one, three times at once, or four times at an even pace below half a second", advice="Wait for the time in Retry-After, seconds or a date; without one, back off exponentially."),
    ConductRule(id="retry-hopeless",           severity=3, sources="J",  clause="base.error-catalog",          line="L379",       proof="three times the same request, refused with the same 400, 401, 403, 404, 409 or 422; ten of what any user may send",    advice="Retry only 429 and 5xx; any other refusal needs another request."),
    ConductRule(id="match-on-message",         severity=2, sources="D",  clause=_NO_TEXT,                      line="L446",       proof="other calls when the texts of messages differ or are empty",                                                           advice="Decide by `code`, `status` and `reason`."),
    ConductRule(id="match-on-status",          severity=2, sources="D",  clause="base.error-guide",            line="L423",       proof="other calls when a refusal has the campaign guide's status",                                                           advice="Decide by `code`, whatever the status."),
    ConductRule(id="only-200-is-ok",           severity=1, sources="JD", clause="base.success",                line="L344",       proof="a start immediately repeated although it was answered 201 or 202; other calls with another success status",            advice="Treat every 2xx as a success."),
    ConductRule(id="json-on-204",              severity=2, sources="J",  clause="cancel.processing",           line="L304",       proof="a cancel repeated although it was answered 204",                                                                       advice="A 204 has no body: do not parse one."),
    ConductRule(id="json-on-html",             severity=2, sources="HD", clause="base.error-body",             line="L379",       proof="a response that is not JSON ends the flow",                                                                            advice="Check the status and the content type before you parse a body."),
    ConductRule(id="closed-enums",             severity=2, sources="D",  clause="base.output",                 line="L112, L122", proof="other calls when a value appears that the document does not list",                                                     advice="Tolerate unknown values."),
    ConductRule(id="closed-objects",           severity=2, sources="D",  clause="base.output",                 line="L445",       proof="other calls when an object has a field that the document does not list",                                               advice="Ignore unknown fields."),
    ConductRule(id="progress-is-done",         severity=2, sources="JD", clause="send.progress",               line="L104, L288", proof="the last poll showed a progress of 99 or more, or a target of 0, and a status that was not final",                     advice="Only a final `status` is the end, never a progress."),
    ConductRule(id="completed-means-sent",     severity=2, sources="DH", clause="send.failures",               line="L103, L203", proof="failedCount makes no difference to the client",                                                                        advice="Check failedCount when a campaign has completed."),
    ConductRule(id="frozen-after-cancel",      severity=3, sources="H",  clause="cancel.queued",               line="L205",       proof="the client's counts differ from those last returned",                                                                  advice="Read the counts again some seconds after a cancel: queued messages may still be sent."),
    ConductRule(id="restart-canceled",         severity=3, sources="J",  clause="start.not-draft",             line="L208",       proof="a start of a campaign after the client received that it was canceled or failed",                                       advice="A final campaign never starts again: create a new one."),
    ConductRule(id="preview-as-target",        severity=3, sources="H",  clause="audience.preview",            line="L101, L263", proof="the client's total differs from targetCount",                                                                          advice="Use targetCount of the execution as the denominator."),
    ConductRule(id="lost-filters",             severity=1, sources="J",  clause="audience.all",                line="L262",       proof="a campaign without filters, created within a minute of a preview with some, was started; or a key like `filters`",     advice="Send the previewed filters under the name `filters`; without them every chat is messaged."),
    ConductRule(id="platform-used-as-audience", severity=1, sources="J", clause="audience.platform-free",      line="L41",        proof="a started audience has chats of other platforms, and no filter names chat.platform or chat.entrypointId",              advice="Add a chat.platform filter: a campaign's platform does not restrict its audience."),
    ConductRule(id="wrong-variable-keys",      severity=2, sources="J",  clause="start.common-variables",      line="L125, L129", proof="a start with keys that are not manual variables of the template",                                                      advice="Send the keys of commonVariables, such as var1; the service fills automatic variables."),
    ConductRule(id="stale-template",           severity=3, sources="J",  clause="start.missing-variables",     line="L295",       proof="a start repeated after CAMPAIGN_MISSING_COMMON_VARIABLES without a read of the template that has changed",             advice="Read the template again when a variable is missing."),
    ConductRule(id="cadence-units",            severity=3, sources="J",  clause="campaigns.cadence",           line="L43, L432",  proof="a cadence that is not an integer, above ten times the platform's ceiling, or too small to finish within a day",        advice="cadence is a whole number of messages per minute."),
    ConductRule(id="nulls-for-omitted",        severity=3, sources="J",  clause="base.input",                  line="L269",       proof="a body was refused for a null",                                                                                        advice="Omit fields without a value."),
    ConductRule(id="naive-dates",              severity=2, sources="JD", clause="filters.dates",               line="L79-L81",    proof="a filter date without offset; other calls with another format of date-times",                                          advice="Write and read date-times with their offset."),
    ConductRule(id="secret-in-browser",        severity=1, sources="J",  clause="advice.secret-server-side",   line="L358",       proof="a secret key with the headers of a browser, or a browser's preflight for one",                                         advice="Call the API from a back end, and replace a secret key that a browser has received."),
    ConductRule(id="key-in-wrong-place",       severity=1, sources="J",  clause="auth.header",                 line="L348",       proof="a secret key outside the header X-API-Key; in a body one of this run",                                                 advice="Send the key only in X-API-Key: URLs and bodies are logged."),
    ConductRule(id="multipart-by-hand",        severity=2, sources="J",  clause="media.upload",                line="L331",       proof="an upload that is not readable as multipart, or has its file in another field than `files`",                           advice="Let the HTTP library write the multipart body; the field is `files`."),
    ConductRule(id="media-all-or-nothing",     severity=2, sources="JH", clause="media.upload",                line="L160",       proof="the same uploaded files sent again within ten minutes together with the one that failed",                              advice="Check `success` of each result, and match results by name."),
    ConductRule(id="page-early-stop",          severity=3, sources="J",  clause="messages.list",               line="L183, L338", proof="the last page was short and had a nextCursor, which no call used",                                                     advice="Continue while there is a nextCursor, however short the page."),
    ConductRule(id="page-endless",             severity=2, sources="J",  clause="messages.list",               line="L183, L338", proof="eleven reads of a cursor that one page returned, ten lists in a row at once, or an empty or null cursor",              advice="The end is an absent, null or empty nextCursor."),
    ConductRule(id="page-skip",                severity=2, sources="JH", clause="messages.list",               line="L338",       proof="a cursor that no page returned, or an offset or page number",                                                          advice="Send nextCursor unchanged."),
    ConductRule(id="misreads-404",             severity=2, sources="DH", clause="auth.denied",                 line="L356",       proof="other calls when another tenant's id is refused with the other code",                                                  advice="Neither 403 nor 404 means that a record was deleted."),
    ConductRule(id="cancel-and-forget",        severity=1, sources="J",  clause="cancel.processing",           line="L304",       proof="a cancel failed, was not repeated in time, nor was the campaign read at its end within a minute, and it completed",    advice="Repeat a cancel that failed, until the campaign reads as canceled."),
)
_SESSIONS = (
    ConductRule(id="reuse-dead-session",       severity=2, sources="JP", clause="session.final",               line="L219",       proof="a loop of reads after expired or failed was returned, or two visits to the dead link",                               advice="After expired or failed create a new session."),
    ConductRule(id="poll-past-deadline",       severity=3, sources="J",  clause="advice.poll-session",         line="L372",       proof="two reads later than two minutes after expiresAt",                                                                   advice="Stop polling at expiresAt."),
    ConductRule(id="stop-too-soon",            severity=2, sources="JW", clause="advice.poll-session",         line="L372",       proof="the session completed after the last read, and no event was acknowledged",                                           advice="Poll until a final status or expiresAt of the service's clock, not of your own."),
    ConductRule(id="id-not-stored-first",      severity=1, sources="WJ", clause="advice.store-session",        line="L318",       proof="the event was answered 409, 410, 422, or 404 by a receiver that accepted others; the client never read the session", advice="Store the sessionId before the user is sent to url."),
    ConductRule(id="event-before-answer",      severity=2, sources="WJ", clause="events.session-id",           line="L370",       proof="the event arrived before the create's response and was refused, and the client did not read the session",            advice="Refuse the event of an unknown session so that it is sent again, or store it."),
    ConductRule(id="iframe",                   severity=2, sources="P",  clause="advice.top-level",            line="L318",       proof="a visit with Sec-Fetch-Dest iframe, frame, embed or object",                                                         advice="Open url in a top-level window or tab."),
    ConductRule(id="popup-blocked",            severity=3, sources="P",  clause="advice.top-level",            line="L318",       proof="a session expired without a visit, and a user visited the page of one created after it",                             advice="Open the window in the click itself, before the session is created."),
    ConductRule(id="preview-burns-link",       severity=2, sources="PJ", clause="session.url",                 line="L137",       proof="a link scanner visited first, the user got 410, and no session was created within a minute after it",                advice="Send no link through chat or e-mail; create a new session when a link is consumed."),
    ConductRule(id="link-shared-or-cached",    severity=1, sources="P",  clause="session.url",                 line="L137",       proof="two user agents on one link, or the consumed link twice, later than a minute",                                       advice="Show the link to one user, once."),
    ConductRule(id="trust-return-url",         severity=1, sources="HJ", clause="session.return",              line="L316, L372", proof="the connected action runs although neither a read nor an event reported it",                                         advice="A hit on returnUrl proves nothing: read the session."),
    ConductRule(id="require-return-params",    severity=2, sources="D",  clause="session.return",              line="L316",       proof="other calls when returnUrl has other parameters",                                                                    advice="Expect no parameters on returnUrl."),
    ConductRule(id="waits-for-return",         severity=2, sources="JW", clause="session.return",              line="L372",       proof="a session with a returnUrl completed, the client did not read it, and no event was acknowledged",                    advice="The user may close the tab: poll, or receive the event."),
    ConductRule(id="bad-return-url",           severity=3, sources="J",  clause="session.return-url",          line="L316",       proof="a create refused for its returnUrl",                                                                                 advice="returnUrl is https, without user or password, of at most 2000 characters."),
    ConductRule(id="funnel-misuse",            severity=3, sources="J",  clause="session.funnel-pair",         line="L313",       proof="a create refused for funnelId without funnelStepId, or for another property",                                        advice="Send funnelId with funnelStepId alone, and no other property."),
    ConductRule(id="session-storm",            severity=3, sources="J",  clause="session.create",              line="L308",       proof="equal creates within a second of which nothing followed one, or three sessions after phone_in_use",                  advice="Create one session per click, and none automatically after a failure."),
    ConductRule(id="one-failure-fits-all",     severity=2, sources="D",  clause="session.failed",              line="L145-L152",  proof="the same calls whatever the reason of the failure",                                                                  advice="Try again after token_exchange_failed and expired; phone_in_use and funnel_not_found need a person."),
    ConductRule(id="double-provision",         severity=1, sources="JH", clause="events.once",                 line="L372",       proof="two reads of the entrypoint within a minute, the second as soon as the second of event and poll had reported it",    advice="Let the first of poll and event do the work; the second must detect that it is done."),
    ConductRule(id="expects-fields-on-read",   severity=2, sources="D",  clause="session.read",                line="L323",       proof="other calls when a session reads with more or fewer fields",                                                         advice="Store url and expiresAt from the creation; the read does not promise them."),
    ConductRule(id="retries-number-in-use",    severity=2, sources="J",  clause="session.phone-in-use",        line="L151",       proof="a session expired, and three in a row after it failed with phone_in_use",                                            advice="Tell the user to free the number; another session ends the same way."),
)
_RECEIVERS = (
    ConductRule(id="no-verify",                severity=1, sources="W",  clause="events.subscribed",           line="L374",       proof="a forged delivery (wrong secret, changed body or id) was answered 2xx",                                      advice="Verify the signature over the raw body, and refuse a mismatch."),
    ConductRule(id="missing-header-passes",    severity=1, sources="W",  clause="events.subscribed",           line="L374",       proof="a delivery without a signature was answered 2xx",                                                            advice="Refuse requests without a signature."),
    ConductRule(id="reserialised-body",        severity=2, sources="W",  clause="events.subscribed",           line="L374",       proof="only valid deliveries with differently formatted JSON were refused",                                         advice="Verify the received bytes before anything parses them."),
    ConductRule(id="secret-misread",           severity=2, sources="W",  clause="events.subscribed",           line="L374",       proof="every valid delivery was refused with 400, 401 or 403",                                                      advice="Sign the received bytes with the secret of this endpoint (strip whsec_, decode the rest from base64), compare with what follows `v1,`, and read webhook-timestamp as seconds."),
    ConductRule(id="accepts-old-timestamps",   severity=1, sources="W",  clause="events.subscribed",           line="L374",       proof="a delivery with an old signed timestamp was answered 2xx",                                                   advice="Refuse timestamps older than five minutes."),
    ConductRule(id="tolerance-on-occurredAt",  severity=2, sources="W",  clause="events.subscribed",           line="L374",       proof="prompt deliveries were accepted and late retries with a fresh signature refused",                            advice="Apply the tolerance to the signature's timestamp, not the event's."),
    ConductRule(id="first-signature-only",     severity=2, sources="W",  clause="events.subscribed",           line="L374",       proof="deliveries with two signatures were refused, others accepted",                                               advice="Accept a delivery if any of its signatures matches."),
    ConductRule(id="no-dedupe",                severity=1, sources="HJ", clause="events.once",                 line="L374",       proof="the same id has two effects",                                                                                advice="Store the ids of events that have had their effect."),
    ConductRule(id="dedupe-by-session",        severity=3, sources="H",  clause="events.once",                 line="L370",       proof="a later event of a session is dropped",                                                                      advice="Dedupe by the event's id, not by its session."),
    ConductRule(id="late-event-overwrites",    severity=1, sources="JH", clause="session.final",               line="L370",       proof="within a minute of the late failure of an old session, although a newer one had connected, a session was created", advice="Let an event change only its own session."),
    ConductRule(id="slow-ack",                 severity=2, sources="W",  clause="events.nothing-lost",         line="L374",       proof="a response took more than 5 s",                                                                              advice="Respond immediately, and process afterwards."),
    ConductRule(id="ack-then-lose",            severity=2, sources="WJ", clause="events.nothing-lost",         line="L372",       proof="the event was acknowledged, the read that followed within a minute failed, and it was not repeated",         advice="Respond 2xx when the event is stored, and repeat what failed."),
    ConductRule(id="refuses-unknown-kind",     severity=3, sources="W",  clause="events.subscribed",           line="L375",       proof="an event of another kind was not answered 2xx",                                                              advice="Acknowledge unknown events."),
    ConductRule(id="webhook-only",             severity=2, sources="J",  clause="advice.poll-session",         line="L372",       proof="no event was acknowledged or is still to come, and the session was never read before its deadline was over", advice="Read the session when no event arrives."),
    ConductRule(id="answers-with-redirect",    severity=3, sources="W",  clause="events.subscribed",           line="L374",       proof="a delivery was answered 3xx",                                                                                advice="Register the receiver's final address."),
    ConductRule(id="framework-in-the-way",     severity=2, sources="W",  clause="events.subscribed",           line="L374",       proof="a valid delivery got 405, 411, 413, 415, or a 401 or 403 of a login or CSRF page",                           advice="Exempt the receiver from CSRF, logins and body limits."),
    ConductRule(id="failure-event-misread",    severity=2, sources="W",  clause="events.failed",               line="L367",       proof="every connection_failed was answered 500, and no connected was",                                             advice="A failure has status, reason and sessionId, and nothing else."),
    ConductRule(id="trusts-payload-tenant",    severity=1, sources="WH", clause="events.connected",            line="L366",       proof="an event with another tenant's id was acknowledged and then acted upon",                                     advice="Route an event by the session that you have stored."),
)
# fmt: on

RULES: Mapping[str, ConductRule] = MappingProxyType({row.id: row for row in (*_CAMPAIGNS, *_SESSIONS, *_RECEIVERS)})
PARTS: Mapping[str, tuple[ConductRule, ...]] = MappingProxyType(
    {"Campaigns and plain HTTP": _CAMPAIGNS, "Connection sessions": _SESSIONS, "Webhook receivers": _RECEIVERS}
)

# The rule that a client breaks if its calls depend on these choices.
BLAMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "match-on-message": ("message-text",),
        "match-on-status": ("dual-status",),
        "only-200-is-ok": ("success-status",),
        "closed-enums": ("new-enum-values",),
        "closed-objects": ("additive-fields", "entrypoint-two-shapes", "error-extra-keys"),
        "naive-dates": ("datetime-spelling", "birthdate-zone"),
        "require-return-params": ("return-query",),
        "expects-fields-on-read": ("session-read-fields", "reason-when-none", "funnel-null", "entrypoint-when-failed"),
        "page-endless": ("next-cursor-end",),
        "misreads-404": ("cross-tenant-code",),
    }
)
