"""The document of the public API has what the tables of the contract have, no less and no more, as a profile behaves."""

from __future__ import annotations

import base64
import hmac
import re
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from mockserver import MockServer, Sandbox
from mockserver.contract.choices import CHOICES, DEFAULTS
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.clauses import read as read_clauses
from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, HEAD_ERROR, OPERATIONS, SUCCESS_STATUS
from mockserver.contract.errors import ERRORS
from mockserver.contract.filters import FIELDS, OPERATORS
from mockserver.contract.lifecycles import SESSION
from tests.clients.operations import SESSIONS
from tests.documents.reading import (
    JSON,
    chosen,
    of_profile,
    operations,
    public,
    unfit_examples,
    validator,
)
from tests.harness.rows import each_row

KEY = re.compile(r"\b(?:sk|pk|whsec)_[A-Za-z0-9+/=]{8,}")


@pytest.mark.parametrize(
    "profile", [pytest.param(each, marks=[pytest.mark.deep] * (each != "guide")) for each in PROFILES]
)
def test_the_document_is_valid_openapi(profile: str) -> None:
    assert [] == list(OpenAPIV31SpecValidator(of_profile(profile)).iter_errors())


def test_the_document_has_the_operations_of_the_table() -> None:
    documented = operations(of_profile("literal"))

    assert {row.id: (row.method, row.path) for row in ENDPOINTS.values()} == {
        name: (row.method, row.path) for name, row in documented.items()
    }
    assert list(OPERATIONS) == sorted(documented, key=OPERATIONS.index)
    assert "1.0" == of_profile("literal")["info"]["version"]


@pytest.mark.parametrize("profile", PROFILES)
def test_an_operation_has_the_statuses_and_codes_of_its_row(profile: str) -> None:
    success = SUCCESS_STATUS[str(chosen(PROFILES[profile])["success-status"])]
    is_guide = PROFILES[profile].get("dual-status") == "guide"
    for row in ENDPOINTS.values():
        expected: dict[str, set[str]] = {}
        for code in (*COMMON_ERRORS, *row.errors, HEAD_ERROR):
            of_guide = is_guide and row.path.startswith("/v1/campaigns")
            status = ERRORS[code].guide_status if of_guide else ERRORS[code].status
            expected.setdefault(str(status), set()).add(code)
        responses = operations(of_profile(profile))[row.id].raw["responses"]
        schemas = {status: _schema(answer) for status, answer in responses.items() if int(status) >= 400}

        assert expected == {status: set(schema["properties"]["code"]["enum"]) for status, schema in schemas.items()}
        assert set(expected) == {str(schema["properties"]["statusCode"]["const"]) for schema in schemas.values()}
        assert {str(success[row.id])} == responses.keys() - expected.keys()


def _schema(answer: JSON) -> JSON:
    schema: JSON = answer["content"]["application/json"]["schema"]
    return schema


def test_an_operation_has_the_parameters_body_and_keys_of_its_row() -> None:
    for name, operation in operations(of_profile("literal")).items():
        row = ENDPOINTS[name]
        parameters = {
            (each["in"], each["name"], each.get("required", False)) for each in operation.raw.get("parameters", ())
        }
        types = list(operation.raw.get("requestBody", {}).get("content", {}))
        schemes = {scheme for alternative in operation.raw["security"] for scheme in alternative}

        assert {
            *(("path", each, True) for each in re.findall(r"{(\w+)}", row.path)),
            *(("query", each, False) for each in row.query),
        } == parameters
        assert {"none": [], "json": ["application/json"], "multipart": ["multipart/form-data"]}[row.body] == types
        assert row.needs_body == operation.raw.get("requestBody", {}).get("required", False)
        assert {"secret": {"secretKey"}, "any": {"secretKey", "publicKey"}}[row.keys] == schemes


@pytest.mark.parametrize("profile", ["literal", "guide", "hostile"])
def test_a_field_whose_values_the_api_document_does_not_list_has_no_enumeration(profile: str) -> None:
    schemas = of_profile(profile)["components"]["schemas"]
    record = schemas["MessageRecord"]["properties"]
    fields = {
        "type": record["type"],
        "status": record["status"],
        "providerTemplateStatus": schemas["TemplateListEntry"]["properties"]["providerTemplateStatus"],
        "items[].type": schemas["TemplateItem"]["properties"]["type"],
        "entrypoint.platform": schemas["EntrypointPlatform"],
        "media.type": record["media"]["properties"]["type"],
        "ad.type": record["ad"]["properties"]["type"],
        "photoapp.kind": record["photoapp"]["properties"]["kind"],
    }

    assert [] == [name for name, schema in fields.items() if {"enum", "const", "oneOf"} & schema.keys()]


def test_the_webhooks_are_the_events_of_a_session() -> None:
    webhooks = of_profile("literal")["webhooks"]
    examples = {
        event: set(item["post"]["requestBody"]["content"]["application/json"]["examples"])
        for event, item in webhooks.items()
    }
    ends: dict[str, set[str]] = {}
    for step in SESSION.steps:
        ends.setdefault(str(step.event), set()).add(step.target)

    assert ends == examples


@each_row("signature", CHOICES["wh-signature"].options)
@each_row("repetition", CHOICES["wh-idempotency"].options)
def test_a_webhook_has_the_headers_of_a_delivery_and_describes_its_signature(
    mockserver: Sandbox, signature: str, repetition: str
) -> None:
    options = {"wh-signature": signature, "wh-idempotency": repetition}
    requests = []
    mockserver.choose(options)
    hook = mockserver.receive_webhooks(lambda request: requests.append(request))
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
    mockserver.complete_session(session)
    item = public(**options)["webhooks"]["entrypoints.chatapp.connected"]["post"]
    described = {row["name"]: row["description"] for row in item.get("parameters", ())}
    sent = {
        name: value
        for name, value in requests[0].headers.items()
        if name.lower() in {each.lower() for each in described}
    }

    assert len(described) == len(sent)
    assert [] == [
        name
        for name in requests[0].headers
        if name.lower().startswith(("webhook-", "svix-", "stripe-", "x-hub-")) and name not in sent
    ]
    assert _verified(described, {name.lower(): value for name, value in sent.items()}, requests[0].body, hook.secret)


def _verified(described: dict[str, str], sent: dict[str, str], body: bytes, secret: str) -> bool:
    """Verify a request as the descriptions of its headers demand."""
    if "Stripe-Signature" in described:
        t, v1 = (part.partition("=")[2] for part in sent["stripe-signature"].split(","))
        return v1 == hmac.new(secret.encode(), f"{t}.".encode() + body, "sha256").hexdigest()
    if "X-Hub-Signature-256" in described:
        return sent["x-hub-signature-256"] == "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()
    signatures = [value for name, value in sent.items() if name.endswith("-signature")]
    if not signatures:
        return True
    prefix = next(name for name in sent if name.endswith("-signature")).removesuffix("-signature")
    signed = f"{sent.get(prefix + '-id', '')}.{sent[prefix + '-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return signatures[0] == "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def test_a_link_names_an_operation_and_its_parameters() -> None:
    documented = operations(of_profile("literal"))
    links = {
        (name, target): (link["operationId"], set(link["parameters"]))
        for name, operation in documented.items()
        for answer in operation.raw["responses"].values()
        for target, link in answer.get("links", {}).items()
    }

    assert {("createCampaign", target) for target in ("readCampaign", "startCampaign", "cancelCampaign")} <= set(links)
    assert {pair: (pair[1], set(re.findall(r"{(\w+)}", ENDPOINTS[pair[1]].path))) for pair in links} == links


@pytest.mark.parametrize("profile", PROFILES)
def test_every_answer_and_every_code_has_an_example(profile: str) -> None:
    for operation in operations(of_profile(profile)).values():
        for status, answer in operation.raw["responses"].items():
            bodies = list(answer.get("content", {}).values())
            examples = [name for body in bodies for name in body["examples"]]
            codes = [
                code for body in bodies for code in body["schema"].get("properties", {}).get("code", {}).get("enum", ())
            ]

            assert examples or operation.id == "cancelCampaign", (operation.id, status)
            assert not codes or codes == examples


@pytest.mark.parametrize("profile", PROFILES)
def test_every_example_fits_its_schema(profile: str) -> None:
    assert [] == unfit_examples(of_profile(profile))


@pytest.mark.deep
def test_the_document_holds_under_each_option_of_each_choice() -> None:
    options = [(row.id, option) for row in CHOICES.values() for option in row.options if option != row.default]
    documented = {pair: public(**{pair[0]: pair[1]}) for pair in options}

    assert {} == {pair: unfit for pair, document in documented.items() if (unfit := unfit_examples(document))}


def test_clauses_and_choices_are_those_of_the_tables_with_the_options_in_force() -> None:
    clauses = {clause.id for clause in read_clauses()}
    for profile, options in PROFILES.items():
        in_force: dict[str, Any] = {**DEFAULTS, **options}
        for operation in operations(of_profile(profile)).values():
            shown = operation.raw["x-choices"]

            assert operation.raw["x-clause"] in clauses
            assert {choice: in_force[choice] for choice in shown} == shown


# Whether each option of `return-url-scheme` accepts it: https-only, loopback-http.
RETURN_URLS = {
    "https://clinic.example/": (True, True),
    "http://localhost:8000/done": (False, True),
    "HTTP://127.0.0.1/?a=b": (False, True),
    "http://[::1]:3000": (False, True),
    "http://LocalHost": (False, True),
    "http://clinic.example/": (False, False),
    "http://localhost.example/": (False, False),
    "http://ana:pw@localhost/": (False, False),
}


@pytest.mark.parametrize(("place", "option"), [(0, "https-only"), (1, "loopback-http")])
def test_a_return_url_of_this_machine_may_be_plain_http_by_choice(
    mockserver_server: MockServer, place: int, option: str
) -> None:
    document = public(**{"return-url-scheme": option, "null-for-optional": "omit"})
    documented = validator(document, document["components"]["schemas"]["CreateConnectionSessionRequest"])
    with mockserver_server.sandbox(choices={"return-url-scheme": option}) as sandbox:
        replies = {url: sandbox.call("POST", SESSIONS, json={"returnUrl": url}) for url in RETURN_URLS}

    expected = {url: verdicts[place] for url, verdicts in RETURN_URLS.items()}
    assert expected == {url: documented.is_valid({"returnUrl": url}) for url in RETURN_URLS}
    assert expected == {url: reply.status < 400 for url, reply in replies.items()}


def test_every_filter_field_has_a_statement_with_its_operators() -> None:
    schemas = of_profile("literal")["components"]["schemas"]
    references = [each["$ref"].rpartition("/")[2] for each in schemas["FilterStatement"]["oneOf"]]
    shown: dict[str, set[str]] = {}
    for name in references:
        for alternative in schemas[name]["oneOf"]:
            properties = alternative["properties"]
            shown.setdefault(properties["field"]["const"], set()).update(properties["operator"]["enum"])

    assert {field.name: set(OPERATORS[field.type]) for field in FIELDS.values()} == shown
