"""State over HTTP: scenario documents, state, checkpoints, reset, and the journal with its verification."""

import pytest
import requests

from mockserver._json import JSON
from mockserver.scenario import library
from tests.clients.operations import SESSIONS
from tests.server.control_calls import Made, refused

DOCUMENT: JSON = {
    "scenario": "mine",
    "summary": "Two chats and a tenant.",
    "choices": {"dual-status": "guide"},
    "clock": {"freeze": "2026-03-01T13:00:00Z"},
    "seed": 3,
    "given": {"chats": [{"id": "chat_a"}], "tenants": [{"id": "tenant_b", "forms": [{"id": "form_b"}]}]},
}
WRONG_PARTS = [
    {"chioces": {}},
    {"choices": {"dual-status": "guide", "unknown": "x"}},
    {"choices": {"media-max-files": 0}},
    {"clock": {"freeze": "2026-03-01T11:00:00Z"}},
    {"clock": {"freeze": "2026-02-30T13:00:00Z"}},
    {"seed": -1},
    {"given": {"chats": [{"id": "chat_new"}, {"id": "chat_taken"}]}},
    {"given": {"chats": [{"id": "chat_new", "entrypointId": "entrypoint_x"}]}},
    {"given": {"chats": [{"id": "chat_new", "funnelStepId": "funnel_step_x"}]}},
    {"given": {"chats": [{"id": "chat_new", "lastMessageAt": "2026-02-30T00:00:00Z"}]}},
    {"given": {"entrypoints": [{"displayPhone": "none"}]}},
    {"given": {"tenants": [{"id": "tenant_new", "secretKey": "sk_taken"}]}},
    {"given": {"tenants": [{"id": "tenant_default", "secretKey": "sk_taken"}]}},
    {"given": {"tenants": [{"id": "chat_taken"}]}},
    {"given": {"tenants": [{"id": "tenant_new", "chats": [{"id": "chat_taken"}]}]}},
    {"given": {"funnels": [{"steps": [{"id": "funnel_step_a"}, {"id": "funnel_step_a"}]}]}},
    {"given": {"forms": [{"iframeEmbedAllowedOrigins": ["http://a.example"]}]}},
]


@pytest.fixture
def recipe() -> JSON:
    """Something that can be taken."""
    return {"given": {"chats": [{"id": "chat_taken"}], "tenants": [{"id": "tenant_other", "secretKey": "sk_taken"}]}}


class TestScenarios:
    def test_the_library_is_listed_with_summaries_and_clauses(self, made: Made) -> None:
        listed = made.control("GET", "/scenarios").json()["scenarios"]

        assert list(library.paths()) == [each["name"] for each in listed]
        assert all({"name", "summary", "clauses"} == set(each) and each["summary"] for each in listed)

    def test_a_document_is_applied_and_every_id_and_key_is_returned(self, made: Made) -> None:
        reply = made.control("POST", "/scenarios", DOCUMENT)

        body = reply.json()
        [tenant] = body["tenants"]
        assert 201 == reply.status_code
        assert {"scenario", "tenants", "created", "rules", "ignored"} == set(body)
        assert ("mine", [], ["seed"]) == (body["scenario"], body["rules"], body["ignored"])
        assert {"id", "secretKey", "publicKey"} == set(tenant) and "tenant_b" == tenant["id"]
        assert {"chats": ["chat_a"], "tenants": ["tenant_b"], "forms": ["form_b"]} == body["created"]
        assert (
            200
            == requests.get(
                f"{made.base}/v1/forms/form_b/embed-frame-policy",
                headers={"X-API-Key": tenant["publicKey"]},
                timeout=60,
            ).status_code
        )
        assert "2026-03-01T13:00:00.000Z" == made.control("GET", "/clock").json()["now"]

    @pytest.mark.parametrize("wrong", WRONG_PARTS, ids=str)
    def test_a_document_with_one_thing_wrong_changes_nothing(self, made: Made, wrong: JSON) -> None:
        made.session()
        before = made.state(), made.control("GET", "/journal").content, made.control("GET", "/events").content
        document = {**DOCUMENT, **wrong, "given": {**DOCUMENT["given"], **wrong.get("given", {})}}

        reply = made.control("POST", "/scenarios", document)

        assert (400, "MOCK_BAD_SCENARIO") == refused(reply)
        assert reply.json()["problems"]
        after = made.state(), made.control("GET", "/journal").content, made.control("GET", "/events").content
        assert before == after
        assert 201 == made.control("POST", "/scenarios", DOCUMENT).status_code

    def test_a_problem_has_its_place_what_was_received_what_was_expected_and_the_nearest_name(self, made: Made) -> None:
        reply = made.control("POST", "/scenarios", {"given": {"chats": [{"platfrom": "chatapp"}]}})

        [problem] = reply.json()["problems"]
        assert ("/given/chats/0/platfrom", 'the key "platfrom"', "platform") == (
            problem["path"],
            problem["found"],
            problem["nearest"],
        )


class TestState:
    def test_reading_changes_neither_it_nor_itself(self, made: Made) -> None:
        made.session()
        before = made.state()

        for path in ("/state", "/journal", "/events", "/choices", "/clock", "/tenants/tenant_default", "/scenarios"):
            made.control("GET", path)

        assert before == made.state()


class TestJournal:
    def test_an_exchange_is_returned_whole_except_its_key(self, made: Made) -> None:
        session_id = made.session()
        made.control("PATCH", "/choices", {"dual-status": "guide"})
        made.api("POST", f"{SESSIONS}?a=1", {"coexistence": "x"})

        first, second = made.control("GET", "/journal").json()["exchanges"]

        keys = ["n", "at", "operation", "tenantId", "request", "response", "applied", "fault", "reason", "choices"]
        assert keys == list(first) == list(second)
        assert (1, "2026-03-01T12:00:00.000Z", "createConnectionSession", made.tenant) == tuple(first.values())[:4]
        assert ("POST", SESSIONS, {}, {}) == tuple(first["request"][key] for key in ("method", "path", "query", "body"))
        assert "sk_..." == first["request"]["headers"]["x-api-key"]
        assert (202, session_id) == (first["response"]["status"], first["response"]["body"]["sessionId"])
        assert (True, None, None, {}) == (first["applied"], first["fault"], first["reason"], first["choices"])
        assert ({"a": "1"}, False, {"dual-status": "guide"}) == (
            second["request"]["query"],
            second["applied"],
            second["choices"],
        )
        assert "/coexistence" in second["reason"]

    def test_it_is_read_in_parts(self, made: Made) -> None:
        for path in ("/v1/campaigns", SESSIONS + "/x", "/v1/campaigns", "/v1/nothing"):
            made.api("GET", path)

        def numbers(query: str) -> list[int]:
            return [each["n"] for each in made.control("GET", f"/journal?{query}").json()["exchanges"]]

        assert [1, 2, 3, 4] == numbers("")
        assert [1, 3] == numbers("operation=listCampaigns")
        assert [2, 4] == numbers("status=404")
        assert [3, 4] == numbers("since=2")
        assert [1, 2] == numbers("limit=2")
        assert [3] == numbers("operation=listCampaigns&since=1&limit=1")
        assert ([3, 4], [], [1, 2, 3, 4]) == (numbers("last=2"), numbers("last=0"), numbers("last=9"))
        assert ([3], [3, 4]) == (numbers("operation=listCampaigns&last=1"), numbers("since=1&last=2"))
        for wrong in ("limit=-1", "since=x", "status=4.5", "limit=", "last=1&limit=1"):
            assert 400 == refused(made.control("GET", f"/journal?{wrong}"))[0]

    def test_control_calls_and_media_are_not_exchanges(self, made: Made) -> None:
        made.control("GET", "/state")
        requests.get(f"{made.base}/media/x", timeout=60)

        assert [] == made.control("GET", "/journal").json()["exchanges"]

    @pytest.mark.parametrize(
        ("wanted", "ok", "count"),
        [
            ({"atLeast": 1}, True, 3),
            ({"times": 3}, True, 3),
            ({"times": 2}, False, 3),
            ({"atLeast": 4}, False, 3),
            ({"atLeast": 1, "atMost": 3}, True, 3),
            ({"atMost": 2}, False, 3),
            ({"where": {"body.coexistence": True}, "atLeast": 1}, True, 1),
            ({"where": {"body.coexistence": 1}, "atLeast": 1}, False, 0),
            ({"where": {"body.returnUrl": "~b.example"}, "times": 1}, True, 1),
            ({"where": {"body.returnUrl": "~nowhere"}, "times": 0}, True, 0),
            ({"where": {"body.returnUrl": "~nowhere"}, "atLeast": 1}, False, 0),
        ],
        ids=str,
    )
    def test_calls_are_counted(self, made: Made, wanted: JSON, ok: bool, count: int) -> None:
        for body in ({}, {"coexistence": True}, {"returnUrl": "https://b.example"}):
            made.api("POST", SESSIONS, body)

        reply = made.control("POST", "/journal/verify", {"operation": "createConnectionSession", **wanted}).json()

        assert {"ok", "count", "nearest", "calls", *([] if ok else ["message"])} == set(reply)
        assert (ok, count) == (reply["ok"], reply["count"])

    def test_the_nearest_calls_are_returned_with_their_differences(self, made: Made) -> None:
        made.api("POST", SESSIONS, {"coexistence": True})
        wanted = {"body.coexistence": False, "body.returnUrl": "https://a.example", "header.X-API-Key": made.public_key}

        body = {"operation": "createConnectionSession", "atLeast": 1, "where": wanted}
        reply = made.control("POST", "/journal/verify", body)

        [near] = reply.json()["nearest"]
        assert {"path": "body.coexistence", "expected": False, "actual": True} == near["differences"][0]
        assert {"path": "header.X-API-Key", "expected": "pk_...", "actual": "sk_..."} == near["differences"][2]
        assert 1 == near["exchange"]["n"]
