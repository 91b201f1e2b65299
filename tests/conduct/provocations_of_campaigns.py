"""Careless clients of campaigns, each next to a careful one at the same task."""

from __future__ import annotations

from typing import Any, Literal

from tests.clients.driven import Client, body_of
from tests.conduct.provocation import TAGGED, Provocation


def lose_start(c: Client, fault: Literal["before", "after"] = "after") -> str:
    c.sandbox.on("startCampaign").nth(1).drop(fault)
    campaign = c.create()
    c.start(campaign)
    return campaign


def started_again(c: Client) -> None:
    c.start(lose_start(c))


def started_again_unapplied(c: Client) -> None:
    c.start(lose_start(c, "before"))


def started_again_truncated(c: Client) -> None:
    c.sandbox.on("startCampaign").nth(1).do({"truncate": 5})
    campaign = c.create()
    c.start(campaign)
    c.start(campaign)


def started_while_one_is_on_its_way(c: Client, reads: bool = False) -> None:
    """The first start arrives when the client has given up and started again."""
    campaign = give_up_a_start(c)
    if reads:
        c.campaign(campaign)
    c.start(campaign)
    c.sandbox.advance("1m")


def started_after_a_late_one(c: Client, reads: bool = False) -> None:
    """The first start arrives when the client has given up, and read the campaign, and before it starts again."""
    campaign = give_up_a_start(c)
    if reads:
        c.campaign(campaign)
    c.sandbox.advance("1m")
    c.start(campaign)


def give_up_a_start(c: Client) -> str:
    c.sandbox.on("startCampaign").nth(1).delay("40s")
    campaign = c.create()
    c.ask("POST", f"/v1/campaigns/{campaign}/start", timeout=10)
    return campaign


def read_before_restart(c: Client) -> None:
    campaign = lose_start(c, "before")
    if body_of(c.campaign(campaign))["status"] == "draft":
        c.start(campaign)


def cloned(c: Client) -> None:
    campaign = lose_start(c)
    c.campaign(campaign)
    c.start(campaign)
    c.launch("Spring, second try")


def believed_the_conflict(c: Client) -> None:
    campaign = lose_start(c)
    c.campaign(campaign)
    c.start(campaign)
    c.campaign(campaign)


def renamed(c: Client) -> None:
    c.sandbox.on("createCampaign").nth(1).drop("after")
    c.create()
    listed = body_of(c.campaigns())["campaigns"]
    c.start(listed[0]["id"])
    c.launch("Spring (2)")


def looked_for_the_name(c: Client) -> None:
    c.sandbox.on("createCampaign").nth(1).drop("after")
    c.create()
    (found,) = body_of(c.campaigns())["campaigns"]
    c.start(found["id"])


def retried_the_create(c: Client, adopts: bool = False) -> None:
    c.sandbox.on("createCampaign").nth(1).drop("after")
    c.create()
    c.create()
    if adopts:
        c.campaigns()


def retried_the_start(c: Client) -> None:
    c.sandbox.on("startCampaign").nth(1).error("INTERNAL_ERROR")
    campaign = c.create()
    c.start(campaign)
    c.start(campaign)


def looked_before_retry(c: Client) -> None:
    c.sandbox.on("createCampaign").nth(1).error("INTERNAL_ERROR")
    c.create()
    c.campaigns()
    c.create()


def waits_for_ever(c: Client) -> None:
    c.sandbox.on("listCampaigns").delay("10m")
    c.campaigns()


def has_a_timeout(c: Client) -> None:
    c.sandbox.on("listCampaigns").delay("10m")
    c.ask("GET", "/v1/campaigns", timeout=30)


def finished(c: Client) -> tuple[str, str]:
    pair = c.launch()
    c.wait("10s")
    return pair


def polled_on(c: Client) -> None:
    pair = finished(c)
    for _ in range(3):
        c.execution(pair)
        c.wait("15s")


def read_again(c: Client) -> None:
    pair = finished(c)
    for _ in range(2):
        c.execution(pair)
        c.wait("15s")


def campaign_polled(c: Client, times: int = 7) -> None:
    campaign, _ = finished(c)
    for _ in range(times):
        c.campaign(campaign)
        c.wait("15s")


def campaign_every(c: Client, length: str) -> None:
    campaign, _ = c.launch(cadence=1)
    for _ in range(8):
        c.campaign(campaign)
        c.wait(length)


def reads_between_starts(c: Client) -> None:
    c.sandbox.on("startCampaign").times(4).drop("before")
    campaign = c.create()
    for _ in range(4):
        c.start(campaign)
        c.wait("1s")
        c.campaign(campaign)
        c.campaign(campaign)


def every(c: Client, length: str, times: int = 4) -> None:
    pair = c.launch(cadence=1)
    for _ in range(times):
        c.execution(pair)
        c.wait(length)


def failed_and_polled(c: Client, times: int = 4) -> None:
    pair = c.launch(cadence=1)
    c.sandbox.admin.fail_campaign(pair[0])
    for _ in range(times):
        c.execution(pair)
        c.wait("15s")


def campaign_failed_and_polled(c: Client, times: int = 7) -> None:
    campaign, _ = c.launch(cadence=1)
    c.sandbox.admin.fail_campaign(campaign)
    for _ in range(times):
        c.campaign(campaign)
        c.wait("15s")


def poll_gets_500(c: Client, again: bool = False) -> None:
    pair = c.launch(cadence=1)
    c.sandbox.on("readExecution").nth(2).error("INTERNAL_ERROR")
    for _ in range(3 if again else 2):
        c.execution(pair)
        c.wait("20s")
    c.wait("5m")


def gave_up_after_retries(c: Client) -> None:
    """Every read but the first is refused; a client retries twice before it reports that."""
    pair = c.launch(cadence=1)
    c.execution(pair)
    c.sandbox.on("readExecution").error("INTERNAL_ERROR")
    for _ in range(3):
        c.wait("20s")
        c.execution(pair)
    c.wait("5m")


def too_early(c: Client, wait: str = "2s") -> None:
    c.sandbox.on("listTemplates").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=7)
    for _ in range(2):
        c.ask("GET", "/v1/message-templates")
        c.wait(wait)


def too_early_by_date(c: Client, wait: str = "2s") -> None:
    c.sandbox.advance(to="2126-03-01T12:00:00.301Z")  # no clock of a computer has reached the date
    c.sandbox.choose({"rate-limit-headers": "http-date"})
    too_early(c, wait)


def burst(c: Client) -> None:
    c.sandbox.choose({"rate-limit-headers": "none"})
    c.sandbox.on("listTemplates").times(3).error("RATE_LIMIT_EXCEEDED")
    for _ in range(2):
        c.campaigns()
        c.wait("5s")
    for _ in range(3):
        c.ask("GET", "/v1/message-templates")


def backed_off(c: Client) -> None:
    c.sandbox.choose({"rate-limit-headers": "none"})
    c.sandbox.on("listTemplates").times(2).error("RATE_LIMIT_EXCEEDED")
    for length in ("1s", "2s", "4s"):
        c.ask("GET", "/v1/message-templates")
        c.wait(length)


def pool(c: Client, again: int = 2) -> None:
    """Three workers read the templates at once; two get a 429, and each of those comes back in time, or one alone."""
    c.sandbox.on("listTemplates").times(2).error("RATE_LIMIT_EXCEEDED", retry_after=7)
    for _ in range(3):
        c.ask("GET", "/v1/message-templates")
        c.wait("100ms")
    c.wait("10s")
    for _ in range(again):
        c.ask("GET", "/v1/message-templates")


def burst_of_workers(c: Client) -> None:
    burst(c)
    c.wait("1s")
    for _ in range(3):
        c.ask("GET", "/v1/message-templates")


def hopeless(c: Client, times: int = 10) -> None:
    c.sandbox.admin.set_tenant(subscription="suspended")
    for _ in range(times):
        c.campaigns()


def create_without_a_name(c: Client, times: int = 3) -> None:
    for _ in range(times):
        c.create("")


def repeated_what_is_not_200(c: Client, times: int = 2) -> None:
    """Creates as often as it starts: the repeated create is refused by its name."""
    campaign = c.create()
    for _ in range(times - 1):
        c.create()
    for _ in range(times):
        c.start(campaign)


def poll_got_errors(c: Client) -> None:
    c.sandbox.on("readExecution").every(2).error("INTERNAL_ERROR")
    pair = c.launch(cadence=1)
    for length in ("15s", "2s") * 3:
        c.execution(pair)
        c.wait(length)


def canceled(c: Client, times: int = 2) -> None:
    campaign, _ = c.launch(cadence=1)
    for _ in range(times):
        c.cancel(campaign)


def canceled_as_it_was_shown(c: Client) -> None:
    """A read that lags behind shows the campaign as running after its cancel."""
    campaign, _ = c.launch(cadence=1)
    c.sandbox.on("readCampaign").stale()
    c.cancel(campaign)
    if body_of(c.campaign(campaign))["status"] == "processing":
        c.cancel(campaign)


def canceled_until_it_is_shown(c: Client) -> None:
    """Reads that lag behind show a campaign as running, while each further cancel is refused."""
    campaign, _ = c.launch(cadence=1)
    c.sandbox.on("readCampaign").stale()
    for _ in range(4):
        c.cancel(campaign)
        if body_of(c.campaign(campaign))["status"] == "canceled":
            break
        c.wait("20s")


def believed_the_progress(c: Client, last: int = 1) -> None:
    c.sandbox.choose({"progress-rounding": "ceil"})
    c.sandbox.apply({"given": {"chats": {"count": 200, "each": {"platform": "chatapp"}}}})
    pair = c.launch(cadence=60)
    c.wait("200s")
    for _ in range(last):
        c.execution(pair)
        c.wait("2m")


def restarted(c: Client, again: bool = True) -> None:
    campaign, _ = c.launch(cadence=1)
    c.cancel(campaign)
    if again:
        c.start(campaign)
    else:
        c.launch("Another", cadence=1, filters=TAGGED)


def filters_lost(c: Client) -> None:
    c.preview(filters=TAGGED)
    c.launch()


def filters_lost_and_later_refused_with_others(c: Client) -> None:
    """What is refused before its body is read makes no campaign that could have the filters of the preview."""
    filters_lost(c)
    c.sandbox.on("createCampaign").error("RATE_LIMIT_EXCEEDED")
    c.create(name="To some", filters=TAGGED)


def filters_with_a_typo(c: Client) -> None:
    c.create(filter=TAGGED)


def filters_reused(c: Client) -> None:
    c.preview(filters=TAGGED)
    c.launch(filters=TAGGED)


def filters_used_by_another_campaign(c: Client) -> None:
    """While one user looks at a preview, another one sends a campaign to everybody."""
    c.preview(filters=TAGGED)
    c.launch(name="To everybody")
    c.launch(name="To some", filters=TAGGED)


def looked_and_sent_to_everybody(c: Client, looked: str = "2m") -> None:
    c.preview(filters=TAGGED)
    c.wait(looked)
    c.launch(name="To everybody")


def looked_elsewhere(c: Client) -> None:
    c.preview(filters=TAGGED)
    c.messages()
    c.launch(name="To everybody")


def missing_record_was_opened_by_users(c: Client) -> None:
    for _ in range(4):
        c.ask("GET", "/v1/entrypoints/entrypoint_gone")
        c.campaigns()


def started_by_two_users(c: Client, reads: int = 2) -> None:
    """Each has the campaign on a page of their own, as a draft; one starts it, and the other one does so at once."""
    campaign = c.create()
    for _ in range(reads):
        c.campaign(campaign)
    c.sandbox.choose({"success-status": "rest"})
    for _ in range(2):
        c.start(campaign)


def canceled_by_users(c: Client, apart: str = "20s", users: int = 2) -> None:
    campaign, _ = c.launch(cadence=1)
    for _ in range(users):
        c.campaign(campaign)
    for _ in range(users):
        c.cancel(campaign)
        c.wait(apart)


def canceled_by_one_and_started_by_another(c: Client, reads: int = 2) -> None:
    campaign = c.create()
    for _ in range(reads):
        c.campaign(campaign)
    c.sandbox.choose({"cancel-draft": "canceled"})
    c.cancel(campaign)
    c.start(campaign)


def other_platforms(c: Client, **changes: Any) -> None:
    c.sandbox.apply({"given": {"chats": [{"id": "chat_p", "platform": "photoapp"}]}})
    c.launch(**changes)


ON_CHATAPP = [
    {"combinator": "and", "statements": [{"field": "chat.platform", "operator": "equals", "value": "chatapp"}]}
]


def with_variables(c: Client, **variables: str) -> None:
    c.start(c.create(templateId="template_v"), **variables)


def cadence(c: Client, **changes: Any) -> None:
    c.launch(**changes)


def slow_for_many(c: Client) -> None:
    c.sandbox.apply({"given": {"chats": {"count": 1500, "each": {"platform": "chatapp"}}}})
    c.launch(cadence=1)


def dated(c: Client, value: str) -> None:
    statement = {"field": "chat.virtual.lastMessageAt", "operator": "greater-than", "value": value}
    c.preview(filters=[{"combinator": "and", "statements": [statement]}])


def from_browser(c: Client, headers: dict[str, str], **how: Any) -> None:
    c.ask("GET", "/v1/campaigns", headers=headers, **how)


def preflight(c: Client) -> None:
    c.ask("OPTIONS", "/v1/campaigns", key="", headers={"access-control-request-headers": "X-API-Key"})


def key_in(c: Client, where: str) -> None:
    key = c.sandbox.secret_key
    if where == "query":
        c.ask("GET", f"/v1/campaigns?apiKey={key}")
    elif where == "header":
        c.ask("GET", "/v1/campaigns", headers={"authorization": f"Bearer {key}"})
    else:
        c.create(description=key)


def pages(c: Client, most: int = 99, limit: int = 4) -> None:
    query, n = f"?limit={limit}", 0
    while n < most:
        n += 1
        cursor = c.messages(query).get("nextCursor")
        if not cursor:
            return
        query = f"?limit={limit}&cursor={cursor}"


def stopped_short(c: Client) -> None:
    c.sandbox.choose({"short-pages": "short"})
    pages(c, most=1)


def read_the_newest(c: Client) -> None:
    pages(c, most=1)


def blank_cursor(c: Client) -> None:
    pages(c)
    c.messages("?cursor=")


def one_cursor(c: Client, times: int = 11) -> None:
    cursor = c.messages("?limit=2")["nextCursor"]
    for _ in range(times):
        c.messages(f"?limit=2&cursor={cursor}")


def pages_again(c: Client, times: int = 11) -> None:
    for _ in range(times):
        pages(c)


def forgot_the_cancel(c: Client, again: bool = False) -> None:
    c.sandbox.on("cancelCampaign").nth(1).error("INTERNAL_ERROR")
    campaign, _ = c.launch(cadence=1)
    c.cancel(campaign)
    if again:
        c.cancel(campaign)
    c.wait("10m")


def _with(function: Any, name: str, *args: Any, **how: Any) -> Any:
    def act(c: Client) -> None:
        function(c, *args, **how)

    act.__name__ = name
    return act


PROVOCATIONS = (
    Provocation("duplicate-start", (2, 3), started_again, read_before_restart),
    Provocation("duplicate-start", (2, 3), started_again_unapplied, read_before_restart),
    Provocation("duplicate-start", (2, 3), started_again_truncated, read_before_restart),
    Provocation("duplicate-start", (3, 2), started_while_one_is_on_its_way, _with(started_while_one_is_on_its_way, "read", reads=True)),
    Provocation("duplicate-start", (2, 3), started_after_a_late_one, _with(started_after_a_late_one, "read", reads=True)),
    Provocation("clone-after-conflict", (4, 5, 6), cloned, believed_the_conflict),
    Provocation("rename-after-lost-create", (1, 4, 5), renamed, looked_for_the_name),
    Provocation("blind-post-retry", (1, 2), retried_the_create, looked_before_retry),
    Provocation("blind-post-retry", (1, 2), retried_the_create, _with(retried_the_create, "adopted", adopts=True)),
    Provocation("blind-post-retry", (2, 3), retried_the_start, read_before_restart),
    Provocation("no-timeout", (1,), waits_for_ever, has_a_timeout),
    Provocation("poll-after-final", (3, 4, 5), polled_on, read_again),
    Provocation("poll-after-final", (3, 4, 5), campaign_polled, _with(campaign_polled, "looked at again", times=6)),
    Provocation("poll-too-fast", (3, 4, 5), _with(campaign_every, "each second", "1s"), _with(campaign_every, "gently", "10s")),
    Provocation("poll-too-fast", (3, 4, 5), _with(campaign_every, "every two seconds", "2s"), reads_between_starts),
    Provocation("poll-too-fast", (3, 4, 5), _with(every, "poll_too_fast", "3s"), _with(every, "slowly", "15s")),
    Provocation("poll-too-fast", (3, 4, 5), _with(every, "hastily", "1s"), poll_got_errors),
    Provocation("poll-final-set-incomplete", (3, 4, 5), failed_and_polled, _with(failed_and_polled, "once", 1)),
    Provocation("poll-final-set-incomplete", (3, 4, 5), campaign_failed_and_polled, _with(campaign_failed_and_polled, "looked at again", times=6)),
    Provocation("poll-dies-on-error", (3, 4), poll_gets_500, _with(poll_gets_500, "went_on", again=True)),
    Provocation("poll-dies-on-error", (3, 4), poll_gets_500, gave_up_after_retries),
    Provocation("ignore-retry-after", (1, 2), too_early, _with(too_early, "patient", "7s")),
    Provocation("ignore-retry-after", (1, 2), too_early_by_date, _with(too_early_by_date, "patient", "7s")),
    Provocation("ignore-retry-after", (3, 4, 5), burst, backed_off),
    Provocation("ignore-retry-after", (2, 3), _with(pool, "one comes back", 1), pool),
    Provocation("ignore-retry-after", (3, 4, 5), burst, burst_of_workers),
    Provocation("retry-hopeless", (1, 2, 3), hopeless, _with(hopeless, "of several users", 9)),
    Provocation("retry-hopeless", (1, 2, 3), create_without_a_name, _with(create_without_a_name, "twice", 2)),
    Provocation("retry-hopeless", (1, 2, 3), create_without_a_name, canceled_until_it_is_shown),
    Provocation("only-200-is-ok", (3, 4), repeated_what_is_not_200, _with(repeated_what_is_not_200, "believed", 1)),
    Provocation("json-on-204", (3, 4), canceled, _with(canceled, "once", 1)),
    Provocation("json-on-204", (6, 7), _with(canceled_by_users, "in a loop", "1s", 3), canceled_by_users),
    Provocation("json-on-204", (3, 4), canceled, _with(canceled_by_users, "at once", "0s")),
    Provocation("json-on-204", (3, 4), canceled, canceled_as_it_was_shown),
    Provocation("progress-is-done", (3,), believed_the_progress, _with(believed_the_progress, "to_the_end", 2)),
    Provocation("restart-canceled", (3, 4), restarted, _with(restarted, "created", again=False)),
    Provocation("lost-filters", (1, 2, 3), filters_lost, filters_reused),
    Provocation("lost-filters", (1, 2, 3), filters_lost, filters_used_by_another_campaign),
    Provocation("lost-filters", (1, 2, 3), _with(looked_and_sent_to_everybody, "at once", "1s"), looked_and_sent_to_everybody),
    Provocation("lost-filters", (1, 2, 3), filters_lost, looked_elsewhere),
    Provocation("lost-filters", (1, 2, 3), filters_lost_and_later_refused_with_others, filters_used_by_another_campaign),
    Provocation("only-200-is-ok", (3, 4), repeated_what_is_not_200, started_by_two_users),
    Provocation("only-200-is-ok", (3, 4), repeated_what_is_not_200, _with(started_by_two_users, "unread", 0)),
    Provocation("restart-canceled", (2, 3), _with(canceled_by_one_and_started_by_another, "unread", 0), canceled_by_one_and_started_by_another),
    Provocation("retry-hopeless", (1, 2, 3), create_without_a_name, missing_record_was_opened_by_users),
    Provocation("lost-filters", (1,), filters_with_a_typo, filters_reused),
    Provocation("platform-used-as-audience", (1, 2), other_platforms, _with(other_platforms, "f", filters=ON_CHATAPP)),
    Provocation("wrong-variable-keys", (2,), _with(with_variables, "by_number", var1="X", **{"1": "X"}), _with(with_variables, "k", var1="X")),
    Provocation("wrong-variable-keys", (2,), _with(with_variables, "by_label", var1="X", Cupom="X"), _with(with_variables, "k", var1="X")),
    Provocation("cadence-units", (1,), _with(cadence, "text", cadence="60"), cadence),
    Provocation("cadence-units", (1,), _with(cadence, "fraction", cadence=0.5), cadence),
    Provocation("cadence-units", (1, 2), _with(cadence, "a_second", cadence=60_000), cadence),
    Provocation("cadence-units", (1, 2), slow_for_many, cadence),
    Provocation("naive-dates", (1,), _with(dated, "naive", "2026-02-01T00:00:00"), _with(dated, "utc", "2026-02-01T00:00:00Z")),
    Provocation("naive-dates", (1,), _with(dated, "a_day", "2026-02-01"), _with(dated, "o", "2026-02-01T00:00:00-03:00")),
    Provocation("secret-in-browser", (1,), _with(from_browser, "origin", {"origin": "https://crm.example"}), cadence),
    Provocation("secret-in-browser", (1,), _with(from_browser, "fetch", {"sec-fetch-mode": "cors", "sec-fetch-site": "cross-site"}), _with(from_browser, "node", {"sec-fetch-mode": "cors", "user-agent": "node"})),
    Provocation("secret-in-browser", (1,), preflight, cadence),
    Provocation("key-in-wrong-place", (1,), _with(key_in, "in_the_query", "query"), cadence),
    Provocation("key-in-wrong-place", (1,), _with(key_in, "in_a_header", "header"), cadence),
    Provocation("key-in-wrong-place", (1,), _with(key_in, "in_a_body", "body"), cadence),
    Provocation("page-early-stop", (1,), stopped_short, pages),
    Provocation("page-early-stop", (1,), stopped_short, read_the_newest),
    Provocation("page-endless", (2, 3), blank_cursor, pages),
    Provocation("page-endless", (2, 3, 4), one_cursor, pages),
    Provocation("page-endless", (2, 3, 4), one_cursor, _with(one_cursor, "by users", 3)),
    Provocation("page-endless", (2, 3, 5), pages_again, _with(pages_again, "for_four_users", 4)),
    Provocation("cancel-and-forget", (3,), forgot_the_cancel, _with(forgot_the_cancel, "again", again=True)),
)  # fmt: skip
