"""Probes of the campaigns that the tenant has already: their details and what their executions tell. They read alone."""

from __future__ import annotations

from typing import Any, Final

from mockserver.verify.records import Exchange
from mockserver.verify.visit import Visit, succeeded

FINAL: Final = ("completed", "failed", "canceled")
_EACH_STATUS_MAX: Final = 3


def campaigns(visit: Visit) -> None:
    """A few campaigns of each status, with their newest execution."""
    visit.refused("campaigns.detail", _unknown(visit), "CAMPAIGN_NOT_FOUND")
    listing = visit.call("listCampaigns")
    rows = succeeded(listing)["campaigns"]
    for status in ("draft", "processing", *FINAL):
        for row in [row for row in rows if row["status"] == status][:_EACH_STATUS_MAX]:
            read(visit, row["id"])


def _unknown(visit: Visit) -> Exchange:
    return visit.call("readCampaign", f"campaign_mockserver_verify_{visit.settings.tag}")


def read(visit: Visit, id: str) -> dict[str, Any]:
    """The detail of a campaign, and what it tells; its newest execution too, where it has one."""
    exchange = visit.call("readCampaign", id)
    detail: dict[str, Any] = succeeded(exchange)
    shown = [key for key in ("description", "filters") if key in detail]
    visit.observe("detail-fields", ["full" if shown else "literal"], exchange)
    visit.judge("base.ids", str(detail["id"]).startswith("campaign_"), exchange, "an id that begins with campaign_")
    visit.judge("campaigns.status-values", detail["status"] in ("draft", "processing", *FINAL), exchange, "a status")
    for entry in detail["executions"]:
        _entry(visit, exchange, entry)
    nowhere = visit.call("readExecution", id, f"execution_mockserver_verify_{visit.settings.tag}")
    by_code = {"RESOURCE_NOT_FOUND": "resource", "CAMPAIGN_NOT_FOUND": "campaign"}
    visit.refused("execution.read", nowhere, *by_code)
    visit.observe("execution-not-found-code", [by_code[nowhere.code]] if nowhere.code in by_code else [], nowhere)
    if detail["executions"]:
        _execution(visit, id, detail)
    return detail


def _entry(visit: Visit, exchange: Exchange, entry: dict[str, Any]) -> None:
    ended, status = entry["completedAt"], entry["status"]
    fits = ended is None if status == "processing" else status != "completed" or ended is not None
    visit.judge("campaigns.detail-executions", fits, exchange, "completedAt null while it runs, set once completed")
    if status in ("canceled", "failed"):
        visit.observe("completedAt-on-cancel-fail", ["null" if ended is None else "set"], exchange)


def _execution(visit: Visit, id: str, detail: dict[str, Any]) -> None:
    exchange = visit.call("readExecution", id, detail["executions"][0]["id"])
    run = succeeded(exchange)
    done, target = run["sentCount"] + run["failedCount"], run["targetCount"]
    visit.judge("send.counts", done <= target, exchange, "sentCount + failedCount of at most targetCount")
    if detail["status"] in FINAL and run["status"] == "processing":
        visit.observe("execution-status-lag", ["campaign-first"], exchange)
    _progress(visit, exchange, run, done, target)


def _progress(visit: Visit, exchange: Exchange, run: dict[str, Any], done: int, target: int) -> None:
    """Progress follows the counts by one of the roundings; a canceled execution may show 100."""
    progress, status = run["progress"], run["status"]
    if target == 0:
        visit.judge("send.progress", progress == 100 or status != "completed", exchange, "100 once completed")
        if status == "processing":
            visit.observe("progress-zero-target", {0: ["zero"], 100: ["hundred"]}.get(progress, []), exchange)
        return
    rounded = {
        "floor": 100 * done // target,
        "half-up": (200 * done + target) // (2 * target),
        "ceil": -(-100 * done // target),
    }
    fits = progress in rounded.values()
    jumped = status == "canceled" and progress == 100 and not fits
    visit.judge("send.progress", fits or jumped, exchange, f"{rounded['floor']} or {rounded['ceil']}")
    if status == "canceled" and done < target:
        visit.observe("progress-after-cancel", ["hundred"] if jumped else ["partial"], exchange)
    if fits:
        visit.observe("progress-rounding", (name for name in rounded if rounded[name] == progress), exchange)
