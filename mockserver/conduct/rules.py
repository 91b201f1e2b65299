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
    #           id                          sev see  clause                         line          what proves it                                                                                                        advice
    ConductRule("duplicate-start",          1, "J",  "advice.read-before-restart",  "L300",       "a start whose predecessor on the same campaign got no answer, and no read of the campaign in between",                 "After a start without an answer read the campaign; start it again only while it is a draft."),
    ConductRule("clone-after-conflict",     1, "J",  "start.not-draft",             "L296-L297",  "a start was refused as already done, then an equal campaign with a similar name was created and started",              "Treat CAMPAIGN_ALREADY_PROCESSING and CAMPAIGN_NOT_DRAFT as a start that took effect: read the campaign."),
    ConductRule("rename-after-lost-create", 1, "J",  "campaigns.name",              "L272",       "a create without an answer or with a taken name, then an equal campaign with a similar name, both started","After a create without an answer look for the name among the campaigns before you create another."),
    ConductRule("blind-post-retry",         1, "J",  "start.once",                  "L300",       "the same start again within a minute of a 5xx; the same create, if its name was taken and never looked for",           "Exclude POST from the retry middleware; first read what the failed call has changed."),
    ConductRule("no-timeout",               2, "JH", "base.internal",               "L421",       "the client waited for a response that was delayed by two minutes or more",                                             "Set a timeout on every call."),
    ConductRule("poll-after-final",         3, "J",  "advice.poll-execution",       "L288",       "two or more reads of an execution or session, six of a campaign, after its final status was returned",                 "Stop at completed, failed or canceled; one last read is enough."),
    ConductRule("poll-too-fast",            3, "J",  "advice.poll-execution",       "L288, L372", "a median gap between polls that succeed below 10 s for an execution or campaign, 2 s for a session",                   "Poll an execution every 10-30 s and a session every 2-5 s."),
    ConductRule("poll-final-set-incomplete",2, "J",  "advice.poll-execution",       "L288",       "three or more reads of an execution, six of a campaign, after failed or canceled was returned; for a minute after a cancel none counts","End the loop at each final status, not at completed alone."),
    ConductRule("poll-dies-on-error",       2, "J",  "advice.poll-execution",       "L288",       "the last poll, or the last two, got a 5xx, a 429 or no answer, the status before was not final, and no call followed", "One failed poll is not the end: wait and poll again."),
    ConductRule("ignore-retry-after",       2, "J",  "advice.back-off",             "L436",       "the same call before the 429's Retry-After was over, or, without one, three times at once, or four times at an even pace below half a second", "Wait for the time in Retry-After, seconds or a date; without one, back off exponentially."),
    ConductRule("retry-hopeless",           3, "J",  "base.error-catalog",          "L379",       "three times the same request, refused with the same 400, 401, 403, 404, 409 or 422; ten of what any user may send",    "Retry only 429 and 5xx; any other refusal needs another request."),
    ConductRule("match-on-message",         2, "D",  _NO_TEXT,                      "L446",       "other calls when the texts of messages differ or are empty",                                                           "Decide by `code`, `status` and `reason`."),
    ConductRule("match-on-status",          2, "D",  "base.error-guide",            "L423",       "other calls when a refusal has the campaign guide's status",                                                           "Decide by `code`, whatever the status."),
    ConductRule("only-200-is-ok",           1, "JD", "base.success",                "L344",       "a start immediately repeated although it was answered 201 or 202; other calls with another success status",            "Treat every 2xx as a success."),
    ConductRule("json-on-204",              2, "J",  "cancel.processing",           "L304",       "a cancel repeated although it was answered 204",                                                                       "A 204 has no body: do not parse one."),
    ConductRule("json-on-html",             2, "HD", "base.error-body",             "L379",       "a response that is not JSON ends the flow",                                                                            "Check the status and the content type before you parse a body."),
    ConductRule("closed-enums",             2, "D",  "base.output",                 "L112, L122", "other calls when a value appears that the document does not list",                                                     "Tolerate unknown values."),
    ConductRule("closed-objects",           2, "D",  "base.output",                 "L445",       "other calls when an object has a field that the document does not list",                                               "Ignore unknown fields."),
    ConductRule("progress-is-done",         2, "JD", "send.progress",               "L104, L288", "the last poll showed a progress of 99 or more, or a target of 0, and a status that was not final",                     "Only a final `status` is the end, never a progress."),
    ConductRule("completed-means-sent",     2, "DH", "send.failures",               "L103, L203", "failedCount makes no difference to the client",                                                                        "Check failedCount when a campaign has completed."),
    ConductRule("frozen-after-cancel",      3, "H",  "cancel.queued",               "L205",       "the client's counts differ from those last returned",                                                                  "Read the counts again some seconds after a cancel: queued messages may still be sent."),
    ConductRule("restart-canceled",         3, "J",  "start.not-draft",             "L208",       "a start of a campaign after the client received that it was canceled or failed",                                       "A final campaign never starts again: create a new one."),
    ConductRule("preview-as-target",        3, "H",  "audience.preview",            "L101, L263", "the client's total differs from targetCount",                                                                          "Use targetCount of the execution as the denominator."),
    ConductRule("lost-filters",             1, "J",  "audience.all",                "L262",       "a campaign without filters, created within a minute of a preview with some, was started; or a key like `filters`",     "Send the previewed filters under the name `filters`; without them every chat is messaged."),
    ConductRule("platform-used-as-audience", 1, "J", "audience.platform-free",      "L41",        "a started audience has chats of other platforms, and no filter names chat.platform or chat.entrypointId",              "Add a chat.platform filter: a campaign's platform does not restrict its audience."),
    ConductRule("wrong-variable-keys",      2, "J",  "start.common-variables",      "L125, L129", "a start with keys that are not manual variables of the template",                                                      "Send the keys of commonVariables, such as var1; the service fills automatic variables."),
    ConductRule("stale-template",           3, "J",  "start.missing-variables",     "L295",       "a start repeated after CAMPAIGN_MISSING_COMMON_VARIABLES without a read of the template that has changed",             "Read the template again when a variable is missing."),
    ConductRule("cadence-units",            3, "J",  "campaigns.cadence",           "L43, L432",  "a cadence that is not an integer, above ten times the platform's ceiling, or too small to finish within a day",        "cadence is a whole number of messages per minute."),
    ConductRule("nulls-for-omitted",        3, "J",  "base.input",                  "L269",       "a body was refused for a null",                                                                                        "Omit fields without a value."),
    ConductRule("naive-dates",              2, "JD", "filters.dates",               "L79-L81",    "a filter date without offset; other calls with another format of date-times",                                          "Write and read date-times with their offset."),
    ConductRule("secret-in-browser",        1, "J",  "advice.secret-server-side",   "L358",       "a secret key with the headers of a browser, or a browser's preflight for one",                                         "Call the API from a back end, and replace a secret key that a browser has received."),
    ConductRule("key-in-wrong-place",       1, "J",  "auth.header",                 "L348",       "a secret key outside the header X-API-Key; in a body one of this run",                                                 "Send the key only in X-API-Key: URLs and bodies are logged."),
    ConductRule("multipart-by-hand",        2, "J",  "media.upload",                "L331",       "an upload that is not readable as multipart, or has its file in another field than `files`",                           "Let the HTTP library write the multipart body; the field is `files`."),
    ConductRule("media-all-or-nothing",     2, "JH", "media.upload",                "L160",       "the same uploaded files sent again within ten minutes together with the one that failed",                              "Check `success` of each result, and match results by name."),
    ConductRule("page-early-stop",          3, "J",  "messages.list",               "L183, L338", "the last page was short and had a nextCursor, which no call used",                                                     "Continue while there is a nextCursor, however short the page."),
    ConductRule("page-endless",             2, "J",  "messages.list",               "L183, L338", "eleven reads of a cursor that one page returned, ten lists in a row at once, or an empty or null cursor",              "The end is an absent, null or empty nextCursor."),
    ConductRule("page-skip",                2, "JH", "messages.list",               "L338",       "a cursor that no page returned, or an offset or page number",                                                          "Send nextCursor unchanged."),
    ConductRule("misreads-404",             2, "DH", "auth.denied",                 "L356",       "other calls when another tenant's id is refused with the other code",                                                  "Neither 403 nor 404 means that a record was deleted."),
    ConductRule("cancel-and-forget",        1, "J",  "cancel.processing",           "L304",       "a cancel failed, was not repeated in time, nor was the campaign read at its end within a minute, and it completed",    "Repeat a cancel that failed, until the campaign reads as canceled."),
)
_SESSIONS = (
    ConductRule("reuse-dead-session",       2, "JP", "session.final",               "L219",       "a loop of reads after expired or failed was returned, or two visits to the dead link",                               "After expired or failed create a new session."),
    ConductRule("poll-past-deadline",       3, "J",  "advice.poll-session",         "L372",       "two reads later than two minutes after expiresAt",                                                                   "Stop polling at expiresAt."),
    ConductRule("stop-too-soon",            2, "JW", "advice.poll-session",         "L372",       "the session completed after the last read, and no event was acknowledged",                                           "Poll until a final status or expiresAt of the service's clock, not of your own."),
    ConductRule("id-not-stored-first",      1, "WJ", "advice.store-session",        "L318",       "the event was answered 409, 410, 422, or 404 by a receiver that accepted others; the client never read the session", "Store the sessionId before the user is sent to url."),
    ConductRule("event-before-answer",      2, "WJ", "events.session-id",           "L370",       "the event arrived before the create's response and was refused, and the client did not read the session",            "Refuse the event of an unknown session so that it is sent again, or store it."),
    ConductRule("iframe",                   2, "P",  "advice.top-level",            "L318",       "a visit with Sec-Fetch-Dest iframe, frame, embed or object",                                                         "Open url in a top-level window or tab."),
    ConductRule("popup-blocked",            3, "P",  "advice.top-level",            "L318",       "a session expired without a visit, and a user visited the page of one created after it",                             "Open the window in the click itself, before the session is created."),
    ConductRule("preview-burns-link",       2, "PJ", "session.url",                 "L137",       "a link scanner visited first, the user got 410, and no session was created within a minute after it",                "Send no link through chat or e-mail; create a new session when a link is consumed."),
    ConductRule("link-shared-or-cached",    1, "P",  "session.url",                 "L137",       "two user agents on one link, or the consumed link twice, later than a minute",                                       "Show the link to one user, once."),
    ConductRule("trust-return-url",         1, "HJ", "session.return",              "L316, L372", "the connected action runs although neither a read nor an event reported it",                                         "A hit on returnUrl proves nothing: read the session."),
    ConductRule("require-return-params",    2, "D",  "session.return",              "L316",       "other calls when returnUrl has other parameters",                                                                    "Expect no parameters on returnUrl."),
    ConductRule("waits-for-return",         2, "JW", "session.return",              "L372",       "a session with a returnUrl completed, the client did not read it, and no event was acknowledged",                    "The user may close the tab: poll, or receive the event."),
    ConductRule("bad-return-url",           3, "J",  "session.return-url",          "L316",       "a create refused for its returnUrl",                                                                                 "returnUrl is https, without user or password, of at most 2000 characters."),
    ConductRule("funnel-misuse",            3, "J",  "session.funnel-pair",         "L313",       "a create refused for funnelId without funnelStepId, or for another property",                                        "Send funnelId with funnelStepId alone, and no other property."),
    ConductRule("session-storm",            3, "J",  "session.create",              "L308",       "equal creates within a second of which nothing followed one, or three sessions after phone_in_use",                  "Create one session per click, and none automatically after a failure."),
    ConductRule("one-failure-fits-all",     2, "D",  "session.failed",              "L145-L152",  "the same calls whatever the reason of the failure",                                                                  "Try again after token_exchange_failed and expired; phone_in_use and funnel_not_found need a person."),
    ConductRule("double-provision",         1, "JH", "events.once",                 "L372",       "two reads of the entrypoint within a minute, the second as soon as the second of event and poll had reported it",    "Let the first of poll and event do the work; the second must detect that it is done."),
    ConductRule("expects-fields-on-read",   2, "D",  "session.read",                "L323",       "other calls when a session reads with more or fewer fields",                                                         "Store url and expiresAt from the creation; the read does not promise them."),
    ConductRule("retries-number-in-use",    2, "J",  "session.phone-in-use",        "L151",       "a session expired, and three in a row after it failed with phone_in_use",                                            "Tell the user to free the number; another session ends the same way."),
)
_RECEIVERS = (
    ConductRule("no-verify",                1, "W",  "events.subscribed",           "L374",       "a forged delivery (wrong secret, changed body or id) was answered 2xx",                                      "Verify the signature over the raw body, and refuse a mismatch."),
    ConductRule("missing-header-passes",    1, "W",  "events.subscribed",           "L374",       "a delivery without a signature was answered 2xx",                                                            "Refuse requests without a signature."),
    ConductRule("reserialised-body",        2, "W",  "events.subscribed",           "L374",       "only valid deliveries with differently formatted JSON were refused",                                         "Verify the received bytes before anything parses them."),
    ConductRule("secret-misread",           2, "W",  "events.subscribed",           "L374",       "every valid delivery was refused with 400, 401 or 403",                                                      "Sign the received bytes with the secret of this endpoint (strip whsec_, decode the rest from base64), compare with what follows `v1,`, and read webhook-timestamp as seconds."),
    ConductRule("accepts-old-timestamps",   1, "W",  "events.subscribed",           "L374",       "a delivery with an old signed timestamp was answered 2xx",                                                   "Refuse timestamps older than five minutes."),
    ConductRule("tolerance-on-occurredAt",  2, "W",  "events.subscribed",           "L374",       "prompt deliveries were accepted and late retries with a fresh signature refused",                            "Apply the tolerance to the signature's timestamp, not the event's."),
    ConductRule("first-signature-only",     2, "W",  "events.subscribed",           "L374",       "deliveries with two signatures were refused, others accepted",                                               "Accept a delivery if any of its signatures matches."),
    ConductRule("no-dedupe",                1, "HJ", "events.once",                 "L374",       "the same id has two effects",                                                                                "Store the ids of events that have had their effect."),
    ConductRule("dedupe-by-session",        3, "H",  "events.once",                 "L370",       "a later event of a session is dropped",                                                                      "Dedupe by the event's id, not by its session."),
    ConductRule("late-event-overwrites",    1, "JH", "session.final",               "L370",       "within a minute of the late failure of an old session, although a newer one had connected, a session was created","Let an event change only its own session."),
    ConductRule("slow-ack",                 2, "W",  "events.nothing-lost",         "L374",       "a response took more than 5 s",                                                                              "Respond immediately, and process afterwards."),
    ConductRule("ack-then-lose",            2, "WJ", "events.nothing-lost",         "L372",       "the event was acknowledged, the read that followed within a minute failed, and it was not repeated",         "Respond 2xx when the event is stored, and repeat what failed."),
    ConductRule("refuses-unknown-kind",     3, "W",  "events.subscribed",           "L375",       "an event of another kind was not answered 2xx",                                                              "Acknowledge unknown events."),
    ConductRule("webhook-only",             2, "J",  "advice.poll-session",         "L372",       "no event was acknowledged or is still to come, and the session was never read before its deadline was over", "Read the session when no event arrives."),
    ConductRule("answers-with-redirect",    3, "W",  "events.subscribed",           "L374",       "a delivery was answered 3xx",                                                                                "Register the receiver's final address."),
    ConductRule("framework-in-the-way",     2, "W",  "events.subscribed",           "L374",       "a valid delivery got 405, 411, 413, 415, or a 401 or 403 of a login or CSRF page",                           "Exempt the receiver from CSRF, logins and body limits."),
    ConductRule("failure-event-misread",    2, "W",  "events.failed",               "L367",       "every connection_failed was answered 500, and no connected was",                                             "A failure has status, reason and sessionId, and nothing else."),
    ConductRule("trusts-payload-tenant",    1, "WH", "events.connected",            "L366",       "an event with another tenant's id was acknowledged and then acted upon",                                     "Route an event by the session that you have stored."),
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
