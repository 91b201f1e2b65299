"""Forms: the embed policy, whether or not the form is active, with a key of either type."""

import pytest

from mockserver import Sandbox
from mockserver.testing.transports.in_process import Response
from tests.harness.rows import each_row
from tests.operations.world import refused

ORIGINS = ["https://www.clinica.example", "https://agenda.clinica.example:8443"]
GIVEN = {
    "forms": [
        {"id": "form_open", "active": True, "iframeEmbedAllowedOrigins": ORIGINS},
        {"id": "form_closed", "active": False, "iframeEmbedAllowedOrigins": ORIGINS[:1]},
        {"id": "form_nowhere"},
    ]
}

pytestmark = [
    pytest.mark.clause("forms.policy"),
    pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z"),
]


def policy(sandbox: Sandbox, id: str, key: str | None = None) -> Response:
    return sandbox.call("GET", f"/v1/forms/{id}/embed-frame-policy", key=key)


@each_row(("id", "origins"), [("form_open", ORIGINS), ("form_closed", ORIGINS[:1]), ("form_nowhere", [])])
def test_the_policy_is_the_allowed_origins_alone_whether_or_not_the_form_is_active(
    mockserver: Sandbox, id: str, origins: list[str]
) -> None:
    for key in (mockserver.secret_key, mockserver.public_key):
        reply = policy(mockserver, id, key)

        assert (200, {"iframeEmbedAllowedOrigins": origins}) == (reply.status, reply.json())


@each_row("id", ["nobodys", "form_ope", "FORM_OPEN", "%00", "a%2Fb", "0"])
def test_an_unknown_form_is_not_found_with_either_key(mockserver: Sandbox, id: str) -> None:
    for key in (mockserver.secret_key, mockserver.public_key):
        assert (404, "FORM_NOT_FOUND") == refused(policy(mockserver, id, key))


@each_row(
    "origin",
    [
        "http://www.clinica.example",
        "https://a.example/path",
        "https://user@a.example",
        "a.example",
        "*",
        "https://*.clinica.example",
        "https://clínica.example",
        "https://a.example:",
        "https://a.example:123456",
        "https://a.example:8443:1",
        "https://a.example,https://b.example",
    ],
)
def test_an_origin_in_another_form_than_https_and_host_cannot_be_seeded(mockserver: Sandbox, origin: str) -> None:
    with pytest.raises(ValueError, match="iframeEmbedAllowedOrigins.*expected an https origin"):
        mockserver.apply({"given": {"forms": [{"id": "form_bad", "iframeEmbedAllowedOrigins": [origin]}]}})

    assert 404 == policy(mockserver, "form_bad").status
