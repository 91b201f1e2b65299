"""
Which choices the public API shows, what each needs to be seen, and why the others stay hidden.

Every choice of the contract is a row of `OBSERVABLE` or of `HIDDEN`, never of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from mockserver.verify.records import Need

Condition = tuple[str, tuple[str, ...]]


class Sight(NamedTuple):
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
_TOGETHER: Final[Condition] = ("execution-status-lag", ("none",))

# fmt: off
_ROWS: Final[tuple[Sight, ...]] = (
    # access
    Sight("subscription-scope",        "reads and writes of a lapsed tenant", (), "a lapsed subscription"),
    Sight("cross-tenant-code",         "reads of another tenant's ids", ("other-key",), "a template of either tenant"),
    Sight("success-status",            "the statuses of the preview and of a creation", _WRITES),
    Sight("dual-status",               "the status of every such error under /v1/campaigns"),
    Sight("template-not-found-code",   "a creation with an unknown template", _WRITES, "a template"),
    Sight("empty-json-body",           "a preview with an empty JSON body"),
    Sight("unknown-body-keys",         "a preview with an unknown key"),
    Sight("null-for-optional",         "a preview with filters of null"),
    Sight("name-uniqueness-scope",     "drafts of similar names, before and after a cancel", _WRITES, "a template", (), (_CANCELS,)),
    Sight("platform-required",         "a creation without a platform", _WRITES, "a template"),
    Sight("error-extra-keys",          "the bodies of errors"),
    Sight("message-text",              "the texts of errors"),
    Sight("datetime-spelling",         "the date-times of templates", (), "a template"),
    Sight("additive-fields",           "the bodies of successes"),
    Sight("new-enum-values",           "statuses, types and platforms whose lists are open", (), "a template"),
    Sight("rate-limit-headers",        "a 429 met on the way; none is provoked", (), "a limit below the run's rate"),
    Sight("list-order",                "the creation times of the templates", (), "four templates"),
    Sight("detail-fields",             "a campaign's detail", (), "a campaign, or --allow-writes"),
    # campaigns
    Sight("cancel-draft",              "the cancel of a draft", _WRITES, "a template"),
    Sight("repeat-cancel",             "a second cancel of it", _WRITES, "a template", (), (_CANCELS,)),
    Sight("cancel-final",              "the cancel of a campaign that ended for nobody", _SENDS, "a template", (), (_STARTS,)),
    Sight("start-empty-audience",      "the start of a draft for nobody", _SENDS, "a template"),
    Sight("execution-status-lag",      "the execution of a campaign that just ended", _SENDS, "a template", (), (_STARTS,)),
    Sight("completedAt-on-cancel-fail", "the executions of campaigns that failed or were canceled", (),
          "such a campaign"),
    Sight("progress-rounding",         "executions that are partly done", (), "two failed campaigns, at thirds"),
    Sight("progress-after-cancel",     "the execution of a campaign that was canceled half-way", (), "such a campaign"),
    Sight("progress-zero-target",      "an execution for nobody that still runs", _SENDS, "a template", (),
          (_STARTS, ("execution-status-lag", ("campaign-first",)))),
    Sight("common-vars-empty",         "a start for nobody with empty texts", _SENDS, "a required variable"),
    Sight("common-vars-extra-keys",    "a start for nobody with a key too many; failing sends are not provoked", _SENDS,
          "a template", ("reject",)),
    Sight("unapproved-template",       "a start for nobody with such a template", _SENDS, "an unapproved template",
          (), (_STARTS,)),
    Sight("provider-status-internal",  "the list of templates", (), "an internal template"),
    Sight("execution-not-found-code",  "an unknown execution of a campaign", (), "a campaign"),
    # filters
    Sight("filter-error-split",        "previews with filters of a wrong structure"),
    Sight("filters-empty-list",        "a preview with an empty list"),
    Sight("group-no-statements",       "previews with hollow groups", (), "a chat"),
    Sight("platform-value-unknown",    "a preview with an unknown platform"),
    Sight("platform-text-operators",   "a preview with a part of a platform's name", (), "a chat, where it is not refused"),
    Sight("missing-value-negative-ops", "a negative operator over chats that lack the value", (),
          "a chat without some number or date"),
    Sight("exists-meaning",            "exists over chats whose text is empty", (), "a chat with an empty text"),
    Sight("case-sensitivity",          "a status in capitals", (), "an open chat, or one with an entrypoint"),
    Sight("between-bounds",            "a range from a value to itself", (), "a chat with one participant, or monetization 0"),
    Sight("date-offset",               "a date-time with another offset"),
    Sight("date-only-and-naive",       "date-times without an offset, around the earliest date", (), "a chat with a date"),
    Sight("birthdate-zone",            "the earliest birth date, to the hour", (), "a birth date without a time"),
    Sight("estimated-count-exactness", "one audience said in several ways", (), "twenty chats", ("rough",)),
    # content
    Sight("media-partial-failure",     "an upload of files of an unknown type", _WRITES),
    Sight("media-failed-item-shape",   "its results", _WRITES, "", (), (("media-partial-failure", ("per-file",)),)),
    Sight("media-result-order",        "its results", _WRITES, "", (), (("media-partial-failure", ("per-file",)),)),
    Sight("message-required-fields",   "the messages of a chat", ("chat",), "a message without a text"),
    Sight("message-absent-vs-null",    "the messages of a chat", ("chat",), "a message"),
    Sight("next-cursor-end",           "the last page of a chat's messages", ("chat",)),
    Sight("short-pages",               "small pages of a chat's messages", ("chat",), "five messages"),
    Sight("entrypoint-two-shapes",     "the read of an entrypoint", ("entrypoint",), "an entrypoint with a phone number"),
    Sight("funnel-null",               "the read of an entrypoint", ("entrypoint",), "one that no funnel is linked to"),
    # sessions
    Sight("session-unknown-code",      "an unknown session"),
    Sight("session-read-fields",       "a pending session", _WRITES),
    Sight("reason-when-none",          "a pending session", _WRITES),
    Sight("funnelId-alone",            "a session with a funnel and no step", _WRITES),
    Sight("funnel-checked-when",       "a session with an unknown step", _WRITES),
)
# fmt: on

OBSERVABLE: Final[Mapping[str, Sight]] = MappingProxyType({row.choice: row for row in _ROWS})

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
