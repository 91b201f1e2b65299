"""The reason phrase of each status, the same on a socket and in process."""

from __future__ import annotations

import asyncio

import pytest
import requests

from mockserver import Sandbox

PATH = "/v1/campaigns"
PHRASES = {
    200: "OK",
    201: "Created",
    302: "Found",
    400: "Bad Request",
    404: "Not Found",
    409: "Conflict",
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    504: "Gateway Timeout",
    599: "Unknown",
}


async def _by_async_httpx(sandbox: Sandbox) -> str:
    async with sandbox.aio.httpx_client() as client:
        return (await client.get(PATH)).reason_phrase


@pytest.mark.parametrize("status", PHRASES)
def test_a_reason_phrase_is_the_registered_one(mockserver: Sandbox, status: int) -> None:
    mockserver.on("listCampaigns").reply(status, "x")
    with requests.Session() as socket, mockserver.httpx_client() as httpx, mockserver.requests_session() as session:
        phrases = [
            socket.get(mockserver.base_url + PATH, allow_redirects=False, timeout=10).reason,
            session.get(mockserver.base_url + PATH, allow_redirects=False).reason,
            httpx.get(PATH).reason_phrase,
            asyncio.run(_by_async_httpx(mockserver)),
            mockserver.admin.app.test_client().get(PATH).status.partition(" ")[2],
        ]

    assert [PHRASES[status]] * len(phrases) == phrases
