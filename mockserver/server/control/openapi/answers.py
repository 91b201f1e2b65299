"""The answers of the control plane's commands as schemas, by command id; None for one without content."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.lifecycles import CONNECTED, CONNECTION_FAILED, DELIVERY, LIFECYCLES
from mockserver.contract.openapi.parts import OPENAPI
from mockserver.coverage.dimensions import DIMENSIONS
from mockserver.server.control.openapi.attempts import ATTEMPT, SENT_ATTEMPT, TIMED_ATTEMPT
from mockserver.server.control.openapi.records import record_components, tables
from mockserver.server.control.openapi.shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    INSTANT,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    Shape,
    array,
    either,
    mapping,
    nullable,
    obj,
    one_of,
    ref,
    titled,
)

JSON = dict[str, Any]

_STREAM: Final = """\
Server-sent events, each with `id`, `event` and `data` (JSON), as they happen; a comment is a heartbeat.

- `call`: `n`, `at`, `operation`, `method`, `path`, `status`, `code`, `fault`, and `changed`, true if the call changed a record
- `change`: a transition, as the journal has it
- `delivery`: a transition of a delivery, with `eventId` and `endpoint`
- `clock`: `now` and `frozen`; first of all, and when the clock is moved, frozen or let run
- `lag`: the reader was too far behind, or the state was restored (`restored`): `calls` and `changes` are left out"""

_LIMIT: Final = {
    **one_of("sandboxes", "idle", "age", "memory", "restart"),
    "description": "The limit of the server that refuses a sandbox, or that has ended it; `restart` of its process.",
}
_OF_FLEET: Final = {"shard": COUNT, "shards": COUNT}  # the process of a fleet that answers, and their number
ANSWERS: Final[Mapping[str, Shape | None]] = MappingProxyType(
    {
        "readHealth": obj(_OF_FLEET, status=one_of("ok"), version=TEXT),
        "createSandbox": ref("CreatedSandbox"),
        "listSandboxes": obj(
            _OF_FLEET,
            sandboxes=array(
                obj(
                    sandboxId=TEXT,
                    baseUrl=TEXT,
                    createdAt=INSTANT,
                    exchanges=COUNT,
                    labels=mapping(TEXT),
                    memoryBytes={**COUNT, "description": "An estimate."},
                    idleSeconds={**COUNT, "description": "Since its last call, in real time."},
                )
            ),
            closed=array(obj({"limit": _LIMIT}, sandboxId=TEXT, lateCalls=COUNT)),
        ),
        "deleteSandboxes": obj(_OF_FLEET, ended=array(TEXT)),
        "deleteSandbox": None,
        "reset": None,
        "readClock": ref("ClockState"),
        "setClock": ref("ClockState"),
        "advanceClock": obj(now=INSTANT, fired=array(ref("FiredTimer"))),
        "readChoices": ref("ChoiceList"),
        "choose": ref("ChoiceList"),
        "readTrackedChoices": obj(read=array(TEXT)),
        "trackChoices": None,
        "listScenarios": obj(scenarios=array(obj(name=TEXT, summary=TEXT, clauses=array(TEXT)))),
        "readScenario": obj(document=ref("Scenario"), rules=array(TEXT)),
        "applyScenario": ref("AppliedScenario"),
        "listRules": obj(rules=array(ref("RuleInForce"))),
        "removeRules": None,
        "removeRule": None,
        "readTenant": ref("TenantSettings"),
        "setTenant": ref("TenantSettings"),
        "readState": ref("State"),
        "createCheckpoint": obj(checkpointId=TEXT),
        "listCheckpoints": obj(checkpoints=array(obj(checkpointId=TEXT, label=TEXT, at=INSTANT, exchanges=COUNT))),
        "restoreCheckpoint": None,
        "readJournal": obj(exchanges=array(ref("Exchange")), transitions=array(ref("Transition"))),
        "verifyJournal": obj(
            ok=FLAG,
            count=COUNT,
            nearest=array(obj(exchange=ref("Exchange"), differences=array(ref("PathDifference")))),
        ),
        "readHistory": ref("History"),
        "readReplay": ref("Scenario"),
        "readReport": ref("Report"),
        "readLedger": ref("Ledger"),
        "readConduct": ref("ConductReport"),
        "readCoverage": ref("Coverage"),
        "completeSession": ref("ReadConnectionSessionResponse"),
        "failSession": ref("ReadConnectionSessionResponse"),
        "cancelSession": ref("ReadConnectionSessionResponse"),
        "expireSession": ref("ReadConnectionSessionResponse"),
        "failCampaign": ref("ReadCampaignResponse"),
        "readEvents": obj(events=array(ref("EventEntry"))),
        "readEvent": ref("EventInFull"),
        "redeliverEvent": ref("EventEntry"),
        "createWebhook": ref("CreatedWebhook"),
        "recoverWebhook": obj(webhookId=TEXT, events=array(TEXT)),
        "rotateWebhook": obj(webhookId=TEXT, secret=TEXT, oldSecret=TEXT),
        "readOpenapi": ref("OpenapiDocument"),
        "readOpenapiYaml": ref("OpenapiDocument"),
        "readDocs": TEXT,
        "readDocsStyle": TEXT,
        "readDocsScript": TEXT,
        "readStream": {**TEXT, "description": _STREAM},
        "readMetrics": TEXT,
        "sendCall": either(
            titled(
                "Response",
                obj(
                    status=WHOLE,
                    headers=array({**array(TEXT), "minItems": 2, "maxItems": 2}),
                    bodyBase64=TEXT,
                    wholeBytes={**COUNT, "description": "The size of the body if it were not cut."},
                    end=one_of("whole", "cut", "timeout"),
                ),
            ),
            titled("No response", obj(noResponse=one_of("drop", "reset", "timeout"))),
        ),
    }
)


def answer_components() -> dict[str, JSON]:
    """Return the named schemas of the answers."""
    return {name: titled(name, shape) for name, shape in _NAMED.items()} | record_components()


_TENANT: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "tenantId": TEXT,
        "name": TEXT,
        "developersEnabled": FLAG,
        "subscription": one_of("active", "suspended", "canceled", "none"),
        "secretKey": {**TEXT, "description": "The first three characters, redacted."},
        "publicKey": {**TEXT, "description": "The first three characters, redacted."},
    }
)
_DUE: Final = obj(at=INSTANT, what=TEXT, id=TEXT)
_FAULT: Final = nullable(obj(rule=TEXT, effects=ref("Effects")))
_CALL: Final[Mapping[str, Shape]] = MappingProxyType({"method": TEXT, "path": TEXT})
_CAUSES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "exchange": {**COUNT, "description": "The call of this number."},
        "timer": {**TEXT, "description": "A deadline."},
        "rule": {**TEXT, "description": "A rule of a scenario."},
        "page": {**TEXT, "description": "A step of the hosted page."},
        "forced": {**TEXT, "description": "A command of the control plane."},
        "given": {**TEXT, "description": "Seed data, with the record's id."},
        "event": {**TEXT, "description": "Of a delivery: its event."},
        "attempt": {**COUNT, "description": "Of a delivery: its attempt."},
        "script": {**TEXT, "description": "Of a delivery: an effect of a rule."},
        "webhook": {**TEXT, "description": "Of a delivery: its endpoint."},
    }
)

_NAMED: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "OpenapiDocument": {
            "type": "object",
            "properties": {
                "openapi": {"type": "string", "const": OPENAPI},
                "info": OBJECT,
                "paths": OBJECT,
                "components": OBJECT,
            },
            "required": ["openapi", "info", "paths", "components"],
            "additionalProperties": True,
        },
        "ControlError": obj(
            {
                "problems": array(ref("Problem")),
                "limit": _LIMIT,
                "holders": array(obj(label=nullable(TEXT), sandboxes=COUNT, memoryBytes=COUNT)),
            },
            statusCode=WHOLE,
            code=TEXT,
            message=TEXT,
        ),
        "Problem": obj(
            {"nearest": TEXT, "position": {**TEXT, "description": "In the file of a library scenario."}},
            path=TEXT,
            found=TEXT,
            wanted=TEXT,
        ),
        "CreatedSandbox": obj(
            {"token": {**TEXT, "description": "Opens the control plane of this sandbox, if the server has a token."}},
            sandboxId=TEXT,
            baseUrl={**TEXT, "description": "With the host that the request has."},
            tenantId=TEXT,
            secretKey=TEXT,
            publicKey=TEXT,
            webhookSecrets={**mapping(TEXT), "description": "Signing secrets that were assigned, by endpoint."},
        ),
        "CreatedWebhook": obj(webhookId=TEXT, tenantId=TEXT, url=TEXT, events=array(TEXT), secret=TEXT),
        "ClockState": obj(now=INSTANT, frozen=FLAG),
        "FiredTimer": _DUE,
        "ChoiceList": obj(
            choices=array(
                obj(
                    id=TEXT,
                    question=TEXT,
                    options=array(TEXT),
                    default=ref("ChoiceValue"),
                    value=ref("ChoiceValue"),
                    clause=TEXT,
                )
            )
        ),
        "AppliedScenario": obj(
            {"webhookSecrets": mapping(TEXT)},
            scenario=nullable(TEXT),
            tenants=array(obj(id=TEXT, secretKey=TEXT, publicKey=TEXT)),
            created=mapping(array(TEXT)),
            rules=array(TEXT),
            ignored=array(TEXT),
        ),
        "TenantSettings": obj(**_TENANT),
        "State": obj(
            clock=ref("ClockState"),
            seed=COUNT,
            choices=mapping(ref("ChoiceValue")),
            tenants=array(ref("TenantState")),
            rules=array(ref("RuleInForce")),
            deliveries=array(
                obj(
                    id=TEXT,
                    eventId=TEXT,
                    endpoint=TEXT,
                    status=one_of(*DELIVERY.states),
                    due=INSTANT,
                    attempts=array(ATTEMPT),
                )
            ),
            storedEvents=array(TEXT),
        ),
        "TenantState": obj(**_TENANT, country=TEXT, chatCount=COUNT, **tables()),
        "Exchange": obj(
            n=COUNT,
            at=INSTANT,
            operation=nullable(TEXT),
            tenantId=nullable(TEXT),
            request=obj(
                {"cutFromBytes": COUNT},
                method=TEXT,
                path=TEXT,
                query=mapping(TEXT),
                headers=mapping(TEXT),
                body=ANYTHING,
            ),
            response=nullable(obj({"cutFromBytes": COUNT}, status=WHOLE, headers=mapping(TEXT), body=ANYTHING)),
            applied=FLAG,
            fault=_FAULT,
            reason=nullable(TEXT),
            choices=mapping(ref("ChoiceValue")),
        ),
        "Transition": obj(
            n=COUNT,
            at=INSTANT,
            kind=one_of(*LIFECYCLES),
            id=TEXT,
            from_=nullable(TEXT),
            to=TEXT,
            cause=obj(_CAUSES),
        ),
        "PathDifference": obj(path=TEXT, expected=ANYTHING, actual=ANYTHING),
        "History": obj(
            now=INSTANT,
            exchanges=COUNT,
            steps=array(obj(at=INSTANT, exchanges=COUNT, transitions=COUNT, command=TEXT, arguments=OBJECT)),
            dropped=COUNT,
            deferred=array(obj(**_CALL, rules=array(TEXT))),
            due=nullable(_DUE),
            unmoved=nullable(obj(first=COUNT, last=COUNT, calls=COUNT, seconds=NUMBER, idleSeconds=NUMBER)),
            apart=nullable(obj(process=INSTANT, sandbox=INSTANT, exchange=nullable(COUNT))),
        ),
        "Ledger": obj(
            executions=array(
                obj(
                    tenantId=TEXT,
                    campaignId=TEXT,
                    executionId=TEXT,
                    templateId=TEXT,
                    status=TEXT,
                    targetCount=COUNT,
                    sentCount=COUNT,
                    failedCount=COUNT,
                    exchange=nullable(COUNT),
                )
            ),
            duplicateExecutions=array(
                obj(
                    tenantId=TEXT,
                    campaignIds=array(TEXT),
                    executionIds=array(TEXT),
                    exchanges=array(nullable(COUNT)),
                )
            ),
            sends=array(
                obj(
                    tenantId=TEXT,
                    chatId=TEXT,
                    templateId=TEXT,
                    values=mapping(TEXT),
                    executionId=TEXT,
                    at=INSTANT,
                )
            ),
            duplicateSends=array(
                obj(tenantId=TEXT, chatId=TEXT, templateId=TEXT, count=COUNT, executionIds=array(TEXT))
            ),
            clonedCampaigns=array(obj(tenantId=TEXT, originalId=TEXT, cloneId=TEXT, why=TEXT, exchanges=array(COUNT))),
            abandonedSessions=array(obj(tenantId=TEXT, sessionId=TEXT, status=TEXT, exchange=nullable(COUNT))),
            unusedMedia=array(obj(tenantId=TEXT, mediaId=TEXT, name=TEXT, exchange=nullable(COUNT))),
        ),
        "ConductReport": obj(
            findings=array(
                obj(
                    rule=TEXT,
                    clause=TEXT,
                    severity={"type": "integer", "enum": [1, 2, 3]},
                    message=TEXT,
                    exchanges=array(COUNT),
                )
            ),
            notAssessed=array(obj(rule=TEXT, why=TEXT)),
        ),
        "Coverage": obj(version=TEXT, dimensions=obj(**dict.fromkeys(DIMENSIONS, ref("CoveredItems")))),
        "CoveredItems": obj(covered=array(TEXT), missing=array(TEXT)),
        "Report": obj(
            sandboxId=TEXT,
            failure={**nullable(TEXT), "description": "The words of the test, as the query has them."},
            summary={**array(TEXT), "description": "The first lines: the most likely cause."},
            call={
                **nullable(
                    obj(
                        n=COUNT,
                        operation=nullable(TEXT),
                        status=nullable(WHOLE),
                        code=nullable(TEXT),
                        reason=nullable(TEXT),
                        fault=_FAULT,
                    )
                ),
                "description": "The last call that was refused, or that a rule changed.",
            },
            text={**TEXT, "description": "The whole report."},
        ),
        "EventEntry": obj(
            id=TEXT,
            at=INSTANT,
            event=one_of(CONNECTED, CONNECTION_FAILED),
            data=either(ref("ConnectedData"), ref("ConnectionExpired"), ref("ConnectionFailed")),
            deliveries=array(obj(endpoint=TEXT, status=one_of(*DELIVERY.states), attempts=array(TIMED_ATTEMPT))),
        ),
        "EventInFull": obj(
            id=TEXT,
            at=INSTANT,
            event=one_of(CONNECTED, CONNECTION_FAILED),
            data=either(ref("ConnectedData"), ref("ConnectionExpired"), ref("ConnectionFailed")),
            deliveries=array(
                obj(
                    id=TEXT,
                    endpoint=TEXT,
                    url=nullable(TEXT),
                    status=one_of(*DELIVERY.states),
                    due=nullable(INSTANT),
                    attempts=array(SENT_ATTEMPT),
                )
            ),
        ),
    }
)
