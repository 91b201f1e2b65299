"""
Which choices and clauses a run can observe through the public API, and why not the others.

Every choice of the contract is a row of `OBSERVABLE` or of `HIDDEN`, never of both. Every clause that no probe judges
is in `UNOBSERVABLE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from mockserver.verify.context import Need

Condition = tuple[str, tuple[str, ...]]


class Observability(NamedTuple):
    """
    How a run observes a choice.

    Attributes:
        choice: The choice's id.
        how: The calls that show it, in words.
        needs: What the user supplies in addition to a key.
        population: The records that the tenant must have, in words.
        distinguishes: The options that the calls distinguish; empty for all. Any other option is narrowed down at most.
        when: Options of other choices; the choice is observable only under these.
    """

    choice: str
    how: str
    needs: tuple[Need, ...] = ()
    population: str = ""
    distinguishes: tuple[str, ...] = ()
    when: tuple[Condition, ...] = ()


_WRITES: Final[tuple[Need, ...]] = ("writes",)
_SENDS: Final[tuple[Need, ...]] = ("writes", "sends")
_CANCELS: Final[Condition] = ("cancel-draft", ("canceled",))
_STARTS: Final[Condition] = ("start-empty-audience", ("complete", "failed"))

# fmt: off
_ROWS: Final[tuple[Observability, ...]] = (
    # access
    Observability("subscription-scope",        "reads and writes with an inactive subscription", (), "an inactive subscription"),
    Observability("cross-tenant-code",         "reads of another tenant's ids", ("other-key",), "a template of either tenant"),
    Observability("success-status",            "the statuses of the preview and of a creation", _WRITES),
    Observability("dual-status",               "the status of the four codes under /v1/campaigns"),
    Observability("template-not-found-code",   "a creation with an unknown template", _WRITES, "a template"),
    Observability("empty-json-body",           "a preview with an empty JSON body"),
    Observability("unknown-body-keys",         "a preview with an unknown key"),
    Observability("null-for-optional",         "a preview with filters of null"),
    Observability("name-uniqueness-scope",     "drafts of similar names, before and after a cancel", _WRITES, "a template", (), (_CANCELS,)),
    Observability("platform-required",         "a creation without a platform", _WRITES, "a template"),
    Observability("error-extra-keys",          "the bodies of errors"),
    Observability("message-text",              "the texts of errors"),
    Observability("datetime-spelling",         "the date-times of templates", (), "a template"),
    Observability("additive-fields",           "the bodies of successes"),
    Observability("new-enum-values",           "statuses, types and platforms whose lists are open", (), "a template"),
    Observability("rate-limit-headers",        "a 429, which a run does not provoke", (), "a limit below the rate of the run"),
    Observability("list-order",                "the creation times of the templates", (), "four templates"),
    Observability("detail-fields",             "a campaign's detail", (), "a campaign, or --allow-writes"),
    # campaigns
    Observability("cancel-draft",              "the cancel of a draft", _WRITES, "a template"),
    Observability("repeat-cancel",             "a second cancel of a draft", _WRITES, "a template", (), (_CANCELS,)),
    Observability("cancel-final",              "the cancel of a campaign that ended without targets", _SENDS, "a template", (), (_STARTS,)),
    Observability("start-empty-audience",      "the start of a draft with an empty audience", _SENDS, "a template"),
    Observability("execution-status-lag",      "the execution of a campaign that just ended", _SENDS, "a template", (), (_STARTS,)),
    Observability("completedAt-on-cancel-fail", "the executions of campaigns that failed or were canceled", (),
          "such a campaign"),
    Observability("progress-rounding",         "executions that are partly sent", (), "two failed campaigns, at one and two thirds"),
    Observability("progress-after-cancel",     "the execution of a campaign that was canceled half-way", (), "such a campaign"),
    Observability("progress-zero-target",      "an execution without targets that still runs", _SENDS, "a template", (),
          (_STARTS, ("execution-status-lag", ("campaign-first",)))),
    Observability("common-vars-empty",         "a start without targets with empty texts", _SENDS, "a required variable"),
    Observability("common-vars-extra-keys",    "a start without targets with an extra key; failing sends are not provoked", _SENDS,
          "a template", ("reject",)),
    Observability("unapproved-template",       "a start without targets with such a template", _SENDS, "an unapproved template",
          (), (_STARTS,)),
    Observability("provider-status-internal",  "the list of templates", (), "an internal template"),
    Observability("execution-not-found-code",  "an unknown execution of a campaign", (), "a campaign"),
    # filters
    Observability("filter-error-split",        "previews with filters of a wrong structure"),
    Observability("filters-empty-list",        "a preview with an empty list"),
    Observability("group-no-statements",       "previews with hollow groups", (), "a chat"),
    Observability("platform-value-unknown",    "a preview with an unknown platform"),
    Observability("platform-text-operators",   "a preview with a part of a platform's name", (), "a chat, unless the service refuses the filter"),
    Observability("missing-value-negative-ops", "a negative operator over chats that lack the value", (),
          "a chat without some number or date"),
    Observability("exists-meaning",            "an exists filter over chats with an empty text", (), "a chat with an empty text"),
    Observability("case-sensitivity",          "a status in capitals", (), "an open chat, or one with an entrypoint"),
    Observability("between-bounds",            "a range from a value to itself", (), "a chat with one participant, or monetization 0"),
    Observability("date-offset",               "a date-time with another offset"),
    Observability("date-only-and-naive",       "date-times without an offset, around the earliest date", (), "a chat with a date"),
    Observability("birthdate-zone",            "the earliest birth date, to the hour", (), "a birth date without a time"),
    Observability("estimated-count-exactness", "one audience in several filters", (), "twenty chats", ("rough",)),
    # content
    Observability("media-partial-failure",     "an upload of files of an unknown type", _WRITES),
    Observability("media-failed-item-shape",   "the results of such an upload", _WRITES, "", (), (("media-partial-failure", ("per-file",)),)),
    Observability("media-result-order",        "the results of such an upload", _WRITES, "", (), (("media-partial-failure", ("per-file",)),)),
    Observability("message-required-fields",   "the messages of a chat", ("chat",), "a message without a text"),
    Observability("message-absent-vs-null",    "the messages of a chat", ("chat",), "a message"),
    Observability("next-cursor-end",           "the last page of a chat's messages", ("chat",)),
    Observability("short-pages",               "small pages of a chat's messages", ("chat",), "five messages"),
    Observability("entrypoint-two-shapes",     "the read of an entrypoint", ("entrypoint",), "an entrypoint with a phone number"),
    Observability("funnel-null",               "the read of an entrypoint", ("entrypoint",), "an entrypoint without a funnel"),
    # sessions
    Observability("session-unknown-code",      "an unknown session"),
    Observability("session-read-fields",       "a pending session", _WRITES),
    Observability("reason-when-none",          "a pending session", _WRITES),
    Observability("funnelId-alone",            "a session with a funnel and no step", _WRITES),
    Observability("funnel-checked-when",       "a session with an unknown step", _WRITES),
)
# fmt: on

OBSERVABLE: Final[Mapping[str, Observability]] = MappingProxyType({row.choice: row for row in _ROWS})

_SENDING = "only a campaign that sends messages shows it, and a run sends none"
_ENDING = "only a session that has ended shows it, and a run does not wait for one"
_USER = "only an end user at the hosted page shows it"
_UPLOAD = "only a stored upload shows it, and no call deletes one"
_EVENTS = "events go to registered endpoints, not through the API"
HIDDEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "head-bounds": "the bounds of a head are the mock's own, and a run sends no larger one",
        "rate-limit-numbers": "a run stays below any sensible limit and provokes none",
        "late-sends-after-cancel": _SENDING,
        "not-draft-vs-already-processing": _SENDING,
        "all-sends-failed": _SENDING,
        "size-limit-values": _SENDING,
        "size-limit-base": _SENDING,
        "audience-off-channel": _SENDING,
        "throughput-ceilings": _SENDING,
        "media-max-files": _UPLOAD,
        "media-missing-type": _UPLOAD,
        "media-max-size": _UPLOAD,
        "page-stability": "only messages that arrive between two pages show it",
        "entrypoint-when-failed": _ENDING,
        "user-cancels": _ENDING,
        "expiry-driver": _ENDING,
        "link-consumed-when": _USER,
        "return-on-failure": _USER,
        "return-query": _USER,
        "simulate-panel": _USER,
        "return-url-scheme": "a run sends no url of its own machine",
        "state-vs-event-order": _ENDING,
        **dict.fromkeys(
            (
                "wh-signature",
                "wh-timestamp",
                "wh-body-bytes",
                "wh-retry",
                "wh-idempotency",
                "wh-no-endpoint",
                "wh-secret-rotation",
                "wh-data-asymmetry",
            ),
            _EVENTS,
        ),
    }
)


_ADVICE = "it is advice to clients, not a rule of the service"

UNOBSERVABLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auth.developers-disabled": "the tenant's developer environment is on",
        "auth.any-secret-key": "it needs two secret keys of one tenant",
        "auth.precedence": "the document leaves the order of checks open",
        "templates.automatic": "the API does not show which placeholders are automatic",
        "templates.read-only": "only calls that the document does not contain could show it",
        "audience.platform-free": _SENDING,
        "start.audience-fixed": _SENDING,
        "start.already": _SENDING,
        "start.size": _SENDING,
        "start.once": _SENDING,
        "send.cadence": _SENDING,
        "send.failures": _SENDING,
        "send.message": _SENDING,
        "send.failed": _SENDING,
        "cancel.processing": _SENDING,
        "cancel.queued": _SENDING,
        "session.funnel-step": _USER,
        "session.completed": _USER,
        "session.failed": _USER,
        "session.user-cancels": _USER,
        "session.phone-in-use": _USER,
        "session.return": _USER,
        "session.final": _USER,
        "session.expired": "a session expires after twenty minutes, and a run ends before",
        "media.audio-single": _UPLOAD,
        "media.too-many": _UPLOAD,
        "media.too-large": _UPLOAD,
        **dict.fromkeys(
            (
                "events.connected",
                "events.failed",
                "events.session-id",
                "events.once",
                "events.subscribed",
                "events.nothing-lost",
            ),
            _EVENTS,
        ),
        **dict.fromkeys(
            (
                "advice.poll-execution",
                "advice.poll-session",
                "advice.read-before-restart",
                "advice.back-off",
                "advice.secret-server-side",
                "advice.top-level",
                "advice.store-session",
                "advice.code-not-message",
            ),
            _ADVICE,
        ),
    }
)

# Clauses that only a certain response shows, which a run does not provoke.
NOT_PROVOKED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "base.internal": "the service never failed",
        "base.rate-limit": "no call exceeded a rate limit",
        "auth.subscription": "the tenant's subscription is active",
        "media.upload": "no file was accepted",
        "start.refused-changes-nothing": "no start was refused",
        "send.completed": "no campaign of the run completed",
    }
)
