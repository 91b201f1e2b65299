"""
Which choices and clauses a run can observe through the public API, and why not the others.

Which choices the public API shows, what each needs to be seen, and why the others stay hidden.

Every choice of the contract is a row of `OBSERVABLE` or of `HIDDEN`, never of both.

The clauses that no probe can judge from outside, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from mockserver.verify.context import Need

Condition = tuple[str, tuple[str, ...]]


class Observability(NamedTuple):
    """
    How a choice is seen.

    `needs` is what the user has to give, beside a key; `population` what the tenant has to have, in words.
    `tells` are the options that can be told apart, all of them where it is empty: any other is narrowed down at most.
    `when` are options of other choices under which alone it shows.
    """

    choice: str
    how: str
    needs: tuple[Need, ...] = ()
    population: str = ""
    tells: tuple[str, ...] = ()
    when: tuple[Condition, ...] = ()


_WRITES: Final[tuple[Need, ...]] = ("writes",)
_SENDS: Final[tuple[Need, ...]] = ("writes", "sends")
_CANCELS: Final[Condition] = ("cancel-draft", ("canceled",))
_STARTS: Final[Condition] = ("start-empty-audience", ("complete", "failed"))

# fmt: off
_ROWS: Final[tuple[Observability, ...]] = (
    # access
    Observability("subscription-scope",        "reads and writes of a lapsed tenant", (), "a lapsed subscription"),
    Observability("cross-tenant-code",         "reads of another tenant's ids", ("other-key",), "a template of either tenant"),
    Observability("success-status",            "the statuses of the preview and of a creation", _WRITES),
    Observability("dual-status",               "the status of every such error under /v1/campaigns"),
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
    Observability("rate-limit-headers",        "a 429 met on the way; none is provoked", (), "a limit below the run's rate"),
    Observability("list-order",                "the creation times of the templates", (), "four templates"),
    Observability("detail-fields",             "a campaign's detail", (), "a campaign, or --allow-writes"),
    # campaigns
    Observability("cancel-draft",              "the cancel of a draft", _WRITES, "a template"),
    Observability("repeat-cancel",             "a second cancel of it", _WRITES, "a template", (), (_CANCELS,)),
    Observability("cancel-final",              "the cancel of a campaign that ended for nobody", _SENDS, "a template", (), (_STARTS,)),
    Observability("start-empty-audience",      "the start of a draft for nobody", _SENDS, "a template"),
    Observability("execution-status-lag",      "the execution of a campaign that just ended", _SENDS, "a template", (), (_STARTS,)),
    Observability("completedAt-on-cancel-fail", "the executions of campaigns that failed or were canceled", (),
          "such a campaign"),
    Observability("progress-rounding",         "executions that are partly done", (), "two failed campaigns, at thirds"),
    Observability("progress-after-cancel",     "the execution of a campaign that was canceled half-way", (), "such a campaign"),
    Observability("progress-zero-target",      "an execution for nobody that still runs", _SENDS, "a template", (),
          (_STARTS, ("execution-status-lag", ("campaign-first",)))),
    Observability("common-vars-empty",         "a start for nobody with empty texts", _SENDS, "a required variable"),
    Observability("common-vars-extra-keys",    "a start for nobody with a key too many; failing sends are not provoked", _SENDS,
          "a template", ("reject",)),
    Observability("unapproved-template",       "a start for nobody with such a template", _SENDS, "an unapproved template",
          (), (_STARTS,)),
    Observability("provider-status-internal",  "the list of templates", (), "an internal template"),
    Observability("execution-not-found-code",  "an unknown execution of a campaign", (), "a campaign"),
    # filters
    Observability("filter-error-split",        "previews with filters of a wrong structure"),
    Observability("filters-empty-list",        "a preview with an empty list"),
    Observability("group-no-statements",       "previews with hollow groups", (), "a chat"),
    Observability("platform-value-unknown",    "a preview with an unknown platform"),
    Observability("platform-text-operators",   "a preview with a part of a platform's name", (), "a chat, where it is not refused"),
    Observability("missing-value-negative-ops", "a negative operator over chats that lack the value", (),
          "a chat without some number or date"),
    Observability("exists-meaning",            "exists over chats whose text is empty", (), "a chat with an empty text"),
    Observability("case-sensitivity",          "a status in capitals", (), "an open chat, or one with an entrypoint"),
    Observability("between-bounds",            "a range from a value to itself", (), "a chat with one participant, or monetization 0"),
    Observability("date-offset",               "a date-time with another offset"),
    Observability("date-only-and-naive",       "date-times without an offset, around the earliest date", (), "a chat with a date"),
    Observability("birthdate-zone",            "the earliest birth date, to the hour", (), "a birth date without a time"),
    Observability("estimated-count-exactness", "one audience said in several ways", (), "twenty chats", ("rough",)),
    # content
    Observability("media-partial-failure",     "an upload of files of an unknown type", _WRITES),
    Observability("media-failed-item-shape",   "its results", _WRITES, "", (), (("media-partial-failure", ("per-file",)),)),
    Observability("media-result-order",        "its results", _WRITES, "", (), (("media-partial-failure", ("per-file",)),)),
    Observability("message-required-fields",   "the messages of a chat", ("chat",), "a message without a text"),
    Observability("message-absent-vs-null",    "the messages of a chat", ("chat",), "a message"),
    Observability("next-cursor-end",           "the last page of a chat's messages", ("chat",)),
    Observability("short-pages",               "small pages of a chat's messages", ("chat",), "five messages"),
    Observability("entrypoint-two-shapes",     "the read of an entrypoint", ("entrypoint",), "an entrypoint with a phone number"),
    Observability("funnel-null",               "the read of an entrypoint", ("entrypoint",), "one that no funnel is linked to"),
    # sessions
    Observability("session-unknown-code",      "an unknown session"),
    Observability("session-read-fields",       "a pending session", _WRITES),
    Observability("reason-when-none",          "a pending session", _WRITES),
    Observability("funnelId-alone",            "a session with a funnel and no step", _WRITES),
    Observability("funnel-checked-when",       "a session with an unknown step", _WRITES),
)
# fmt: on

OBSERVABLE: Final[Mapping[str, Observability]] = MappingProxyType({row.choice: row for row in _ROWS})

_RUNNING = "only a campaign that really sends shows it, and a run sends to nobody"
_ENDING = "only a session that has ended shows it, and a run waits for none"
_USER = "only an end user at the hosted page shows it"
HIDDEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rate-limit-numbers": "a run keeps below any sensible limit and does not look for one",
        "late-sends-after-cancel": _RUNNING,
        "not-draft-vs-already-processing": _RUNNING,
        "all-sends-failed": _RUNNING,
        "size-limit-values": _RUNNING,
        "size-limit-base": _RUNNING,
        "audience-off-channel": _RUNNING,
        "throughput-ceilings": _RUNNING,
        "media-max-files": "only uploads that are kept show it, and nothing deletes one",
        "media-missing-type": "only uploads that are kept show it, and nothing deletes one",
        "media-max-size": "only uploads that are kept show it, and nothing deletes one",
        "page-stability": "only messages that arrive between two pages show it",
        "entrypoint-when-failed": _ENDING,
        "user-cancels": _ENDING,
        "expiry-driver": _ENDING,
        "link-consumed-when": _USER,
        "return-on-failure": _USER,
        "return-query": _USER,
        "state-vs-event-order": _ENDING,
        **dict.fromkeys(
            (
                "wh-signature",
                "wh-body-bytes",
                "wh-retry",
                "wh-idempotency",
                "wh-no-endpoint",
                "wh-data-asymmetry",
            ),
            "events go to registered endpoints, not through the API",
        ),
    }
)


_EVENTS = "events go to registered endpoints, not through the API"
_ADVICE = "it is advice to clients, not a rule of the service"
_NEEDS_SENDING = "only a campaign that really sends shows it, and a run sends to nobody"
_NEEDS_END_USER = "only an end user at the hosted page shows it"
_UPLOAD = "only an upload that is kept shows it, and nothing deletes one"

UNOBSERVABLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auth.developers-disabled": "the tenant's developer environment is on",
        "auth.any-secret-key": "it takes two secret keys of one tenant",
        "auth.precedence": "the document leaves the order of checks open",
        "templates.automatic": "the API does not tell which placeholders are automatic",
        "templates.read-only": "only calls that the document does not have could show it",
        "audience.platform-free": _NEEDS_SENDING,
        "start.audience-fixed": _NEEDS_SENDING,
        "start.already": _NEEDS_SENDING,
        "start.size": _NEEDS_SENDING,
        "start.once": _NEEDS_SENDING,
        "send.cadence": _NEEDS_SENDING,
        "send.failures": _NEEDS_SENDING,
        "send.message": _NEEDS_SENDING,
        "send.failed": _NEEDS_SENDING,
        "cancel.processing": _NEEDS_SENDING,
        "cancel.queued": _NEEDS_SENDING,
        "session.funnel-step": _NEEDS_END_USER,
        "session.completed": _NEEDS_END_USER,
        "session.failed": _NEEDS_END_USER,
        "session.user-cancels": _NEEDS_END_USER,
        "session.phone-in-use": _NEEDS_END_USER,
        "session.return": _NEEDS_END_USER,
        "session.final": _NEEDS_END_USER,
        "session.expired": "a run waits for no clock, and a session lapses after twenty minutes",
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

# Clauses that only a certain answer shows, which a run does not provoke.
UNMET: Final[Mapping[str, str]] = MappingProxyType(
    {
        "base.internal": "the service never failed",
        "base.rate-limit": "no call was one too many",
        "auth.subscription": "the tenant's subscription is active",
        "media.upload": "no file was taken",
        "start.refused-changes-nothing": "no start was refused",
        "send.completed": "no campaign of the run completed",
    }
)
