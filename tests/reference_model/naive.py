"""
A naive model of the service, written from the document alone: campaigns, sends, sessions, time.

Nothing here is clever. Every message waits in a queue with its own exact instant, and time passes one happening after
another. Instants are microseconds since noon of the first of March 2026; a send's may be a fraction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.harness import filter_oracle

EPOCH = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = 60_000_000
PLATFORMS = ("chatapp", "photoapp", "chatapp_lite")
CEILING = {"chatapp": 4800, "photoapp": 18000, "chatapp_lite": 30}
COEXISTENCE_CEILING = 1200
RULES = filter_oracle.Rules()


class Refused(Exception):
    """The answer is an error with this status and code."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(status, code)
        self.status = status
        self.code = code


def fits(statement: dict[str, Any]) -> bool:
    """Return True if the field is a documented one, and a platform that is named, too."""
    field, value = statement["field"], statement.get("value")
    values = value if isinstance(value, list) else [value]
    return field in filter_oracle.FIELDS and (field != "chat.platform" or set(values) <= {*PLATFORMS, "botapp"})


def shown(instant: Fraction | int) -> str:
    """An instant as answers show it: cut to the millisecond."""
    moment = EPOCH + timedelta(milliseconds=floor(Fraction(instant) / 1000))
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def cut(instant: int) -> int:
    """An instant as it is shown; what is promised for later counts from there."""
    return instant // 1000 * 1000


@dataclass
class Template:
    id: str
    text: str = "Oi"
    status: str | None = None  # the provider's; None for an internal one
    manual: str | None = None  # the key of its one required manual variable, placeholder {{2}}


@dataclass
class Chat:
    id: str
    name: str | None
    fields: dict[str, Any]  # by filter field
    inbox: list[dict[str, Any]] = field(default_factory=list)  # oldest first


@dataclass
class Execution:
    number: int
    started: int
    text: str
    queue: list[tuple[Fraction, Chat]]
    target: int
    id: str = ""
    status: str = "processing"
    sent: int = 0
    failed: int = 0
    ended: Fraction | None = None


@dataclass
class Campaign:
    tenant: Tenant
    body: dict[str, Any]
    template: Template
    id: str = ""
    status: str = "draft"
    execution: Execution | None = None


@dataclass
class Session:
    tenant: Tenant
    body: dict[str, Any]
    created: int
    id: str = ""
    status: str = "pending"
    reason: str | None = None
    entrypoint: Entrypoint | None = None


@dataclass
class Entrypoint:
    session: Session
    name: str
    phone: str
    id: str = ""


@dataclass
class Tenant:
    id: str
    name: str
    templates: dict[str, Template]
    steps: dict[str, str]  # funnel step -> funnel
    chats: list[Chat] = field(default_factory=list)
    campaigns: list[Campaign] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    entrypoints: list[Entrypoint] = field(default_factory=list)


class Service:
    """The whole service. Each method that answers a call lets happen first what is due by now."""

    def __init__(self, tenants: list[Tenant], limits: dict[str, int]) -> None:
        self.tenants = tenants
        self.limits = limits
        self.now = 0
        self.started = 0

    # time

    def advance(self, microseconds: int) -> None:
        """Let time pass, one happening after another."""
        until = self.now + microseconds
        while (soonest := self.soonest()) is not None and soonest[0] <= until:
            soonest[1]()
        self.now = until

    def soonest(self) -> tuple[Fraction, Any] | None:
        """The instant of the next happening and what then happens."""
        waiting: list[tuple[Fraction, Any]] = []
        for tenant in self.tenants:
            for campaign in tenant.campaigns:
                execution = campaign.execution
                if campaign.status == "processing" and execution is not None:
                    due = execution.queue[0][0] if execution.queue else Fraction(execution.started)
                    waiting.append((due, lambda one=campaign, at=due: self.send_one(one, at)))
            for session in tenant.sessions:
                if session.status == "pending":
                    waiting.append((Fraction(cut(session.created) + 20 * MINUTE), lambda one=session: self.expire(one)))
        return min(waiting, key=lambda each: each[0], default=None)

    def send_one(self, campaign: Campaign, at: Fraction) -> None:
        """The next message of a campaign is sent or fails; with the last one the campaign is completed."""
        execution = campaign.execution
        assert execution is not None
        if execution.queue:
            _, chat = execution.queue.pop(0)
            status = campaign.template.status
            if status not in (None, "APPROVED") or chat.fields["chat.platform"] != campaign.body["platform"]:
                execution.failed += 1
            else:
                execution.sent += 1
                self.deliver(campaign, execution, chat, at)
        if not execution.queue:
            self.end(campaign, "completed", at)

    def deliver(self, campaign: Campaign, execution: Execution, chat: Chat, at: Fraction) -> None:
        official = campaign.template.status == "APPROVED"
        record = {
            "type": "text",
            "status": "sent",
            "sender": {"id": campaign.tenant.id, "name": campaign.tenant.name, "isParticipant": False},
            "isOfficialTemplate": official,
            "templateCharged": official and campaign.body["platform"] == "chatapp",
            "createdAt": shown(at),
            "text": execution.text.replace("{{1}}", chat.name or ""),
        }
        chat.inbox.append({"key": (max(at, execution.started), execution.number), "record": record})
        chat.inbox.sort(key=lambda each: each["key"])

    def end(self, campaign: Campaign, status: str, at: Fraction | int) -> None:
        assert campaign.execution is not None
        campaign.status = campaign.execution.status = status
        campaign.execution.ended = Fraction(at)
        campaign.execution.queue = []

    # campaigns

    def create(self, tenant: Tenant, body: dict[str, Any]) -> Campaign:
        self.advance(0)
        name, cadence = body["name"], body["cadence"]
        if not 1 <= len(name) <= 100 or body["platform"] not in PLATFORMS:
            raise Refused(400, "VALIDATION_ERROR")
        if type(cadence) is not int or not 1 <= cadence <= 9007199254740991:
            raise Refused(400, "VALIDATION_ERROR")
        if body["templateId"] not in tenant.templates:
            raise Refused(404, "MESSAGE_TEMPLATE_NOT_FOUND")
        template = tenant.templates[body["templateId"]]
        if template.status == "APPROVED" and body["platform"] == "chatapp_lite":
            raise Refused(400, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH")
        self.audience(tenant, body)
        if name in [each.body["name"] for each in tenant.campaigns]:
            raise Refused(400, "CAMPAIGN_NAME_ALREADY_EXISTS")
        campaign = Campaign(tenant, body, template)
        tenant.campaigns.append(campaign)
        return campaign

    def audience(self, tenant: Tenant, body: dict[str, Any]) -> list[Chat]:
        filters = body.get("filters", [])
        if not all(fits(statement) for group in filters for statement in group["statements"]):
            raise Refused(422, "CAMPAIGN_INVALID_FILTERS")
        return [chat for chat in tenant.chats if filter_oracle.selects(chat.fields, filters, RULES)]

    def known(self, tenant: Tenant, campaign: Campaign | None) -> Campaign:
        self.advance(0)
        if campaign is None or campaign.tenant is not tenant:
            raise Refused(404, "CAMPAIGN_NOT_FOUND")
        return campaign

    def start(self, tenant: Tenant, campaign: Campaign | None, variables: dict[str, str]) -> Execution:
        campaign = self.known(tenant, campaign)
        if campaign.status == "processing":
            raise Refused(422, "CAMPAIGN_ALREADY_PROCESSING")
        if campaign.status != "draft":
            raise Refused(422, "CAMPAIGN_NOT_DRAFT")
        manual = campaign.template.manual
        if manual is not None and manual not in variables:
            raise Refused(400, "CAMPAIGN_MISSING_COMMON_VARIABLES")
        chats = self.audience(tenant, campaign.body)
        if len(chats) > self.limits[campaign.body["platform"]]:
            raise Refused(422, "CAMPAIGN_SIZE_LIMIT_EXCEEDED")
        text = campaign.template.text.replace("{{2}}", variables.get(manual, "") if manual else "")
        gap = Fraction(MINUTE, self.per_minute(campaign))
        queue = [(cut(self.now) + place * gap, chat) for place, chat in enumerate(chats)]
        self.started += 1
        campaign.execution = Execution(self.started, self.now, text, queue, len(chats))
        campaign.status = "processing"
        return campaign.execution

    def per_minute(self, campaign: Campaign) -> int:
        platform = campaign.body["platform"]
        own = campaign.tenant.entrypoints
        only_coexistence = own and all(each.session.body.get("coexistence") for each in own)
        if platform == "chatapp" and only_coexistence:
            return int(min(campaign.body["cadence"], COEXISTENCE_CEILING))
        return int(min(campaign.body["cadence"], CEILING[platform]))

    def cancel(self, tenant: Tenant, campaign: Campaign | None) -> None:
        campaign = self.known(tenant, campaign)
        if campaign.status not in ("draft", "processing"):
            raise Refused(422, "UNPROCESSABLE_REQUEST")
        if campaign.status == "draft":
            campaign.status = "canceled"
        else:
            self.end(campaign, "canceled", self.now)

    def fail(self, campaign: Campaign | None) -> bool:
        """An unrecoverable error; False where nothing runs."""
        self.advance(0)
        if campaign is None or campaign.status != "processing":
            return False
        self.end(campaign, "failed", self.now)
        return True

    # sessions

    def connect(self, tenant: Tenant, body: dict[str, Any]) -> Session:
        self.advance(0)
        url = body.get("returnUrl", "https://ok")
        wrong_url = not url.startswith("https://") or "@" in url or len(url) > 2000
        if wrong_url or ("funnelId" in body and "funnelStepId" not in body) or "other" in body:
            raise Refused(400, "VALIDATION_ERROR")
        session = Session(tenant, body, self.now)
        tenant.sessions.append(session)
        return session

    def complete(self, session: Session | None, phone: str) -> bool:
        """The end user finishes; False where the session is final."""
        self.advance(0)
        if session is None or session.status != "pending":
            return False
        taken = [each.phone for tenant in self.tenants for each in tenant.entrypoints]
        step, funnel = session.body.get("funnelStepId"), session.body.get("funnelId")
        steps = session.tenant.steps
        if phone in taken:
            session.status, session.reason = "failed", "phone_in_use"
        elif step is not None and (step not in steps or funnel not in (None, steps[step])):
            session.status, session.reason = "failed", "funnel_not_found"
        else:
            session.status = "completed"
            session.entrypoint = Entrypoint(session, session.tenant.name, phone)
            session.tenant.entrypoints.append(session.entrypoint)
        return True

    def end_session(self, session: Session | None, reason: str) -> bool:
        """A definitive failure, or `expired`; False where the session is final."""
        self.advance(0)
        if session is None or session.status != "pending":
            return False
        session.status, session.reason = ("expired" if reason == "expired" else "failed"), reason
        return True

    def expire(self, session: Session) -> None:
        session.status = session.reason = "expired"

    def due_us(self) -> int | None:
        """The first whole microsecond by which the next happening has happened."""
        soonest = self.soonest()
        return None if soonest is None else ceil(soonest[0])
