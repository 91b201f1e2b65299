"""Urls in a response's headers are unchanged on a socket, in process and on another WSGI server."""

from __future__ import annotations

import pytest
import requests

from mockserver import Sandbox
from tests.operations.session_calls import create

PATH = "/v1/campaigns"
LONG_LABEL = f"https://{'a' * 64}.example/"  # the URL standard takes it, the codec `idna` does not
RETURN_URLS = [
    "HTTPS://Clinic.Example:0443/",
    "https://clinic.example/?state=a|b[1]^'{}",
    "https://clinic.example/?",
    "https://clinic.example/#",
    "https://clinic..example/",
    LONG_LABEL,
]


@pytest.mark.parametrize("url", [*RETURN_URLS, "http://[x", "https://a.example:x/", "//["])
@pytest.mark.parametrize("name", ["Location", "Content-Location"])
def test_a_scripted_url_is_sent_unchanged(mockserver: Sandbox, name: str, url: str) -> None:
    mockserver.on("listCampaigns").reply(201, "x", {name: url})
    client, session = mockserver.admin.app.test_client(), mockserver.requests_session()
    key = {"X-API-Key": mockserver.secret_key}

    on_socket = requests.get(mockserver.base_url + PATH, headers=key, allow_redirects=False, timeout=10)
    in_process = session.get(mockserver.base_url + PATH, headers=key, allow_redirects=False)
    in_wsgi = client.get(PATH, headers=key)

    assert [(201, url)] * 3 == [(each.status_code, each.headers[name]) for each in (on_socket, in_process, in_wsgi)]


@pytest.mark.parametrize("url", RETURN_URLS)
@pytest.mark.parametrize("socket", [False, True])
@pytest.mark.clause("session.return")
def test_a_browser_is_redirected_to_the_exact_return_url(mockserver: Sandbox, url: str, socket: bool) -> None:
    session = create(mockserver, {"returnUrl": url})

    page = mockserver.end_user(session, socket=socket).connect()

    assert (303, url) == (page.status, page.location)
