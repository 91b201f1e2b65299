"""The document of the public API accepts and refuses the bodies that the API document does; and so does the mock."""

from __future__ import annotations

import pytest

from mockserver import Sandbox
from mockserver.contract.endpoints import ENDPOINTS
from tests.documents.bodies import bodies
from tests.documents.reading import of_profile, operations, validator

GIVEN = {
    "templates": [{"id": "template_hello"}],
    "campaigns": [{"id": "campaign_draft", "templateId": "template_hello", "name": "Draft"}],
    "funnels": [{"id": "funnel_a", "steps": [{"id": "funnel_step_a"}]}],
}


@pytest.mark.parametrize("formats", [True, False])  # an annotation alone for many tools (JSON Schema, 7.2.1)
def test_the_document_accepts_and_refuses_the_bodies_of_the_table(formats: bool) -> None:
    document = of_profile("literal")
    checks = {
        name: validator(
            document, operation.raw["requestBody"]["content"]["application/json"]["schema"], formats=formats
        )
        for name, operation in operations(document).items()
        if ENDPOINTS[name].body == "json"
    }

    assert [] == [body for body in bodies() if body.is_accepted != checks[body.operation].is_valid(body.value)]


@pytest.mark.mockserver(given=GIVEN)
def test_the_mock_accepts_and_refuses_them_too(mockserver: Sandbox) -> None:
    wrong = []
    for body in bodies():
        row = ENDPOINTS[body.operation]
        with mockserver.checkpoint():
            reply = mockserver.call(row.method, row.path.format(id="campaign_draft"), json=body.value)
        if body.is_accepted != (reply.status < 400):
            wrong.append((body, reply.status, reply.body))

    assert [] == wrong
