"""Urls in a response's headers are unchanged on a socket, in process and on another WSGI server."""

from __future__ import annotations

import pytest

from mockserver import Sandbox
from tests.harness.rows import each_row
from tests.operations.session_calls import create

LONG_LABEL = f"https://{'a' * 64}.example/"  # the URL standard takes it, the codec `idna` does not
RETURN_URLS = [
    "HTTPS://Clinic.Example:0443/",
    "https://clinic.example/?state=a|b[1]^'{}",
    "https://clinic.example/?",
    "https://clinic.example/#",
    "https://clinic..example/",
    LONG_LABEL,
]


@each_row("url", RETURN_URLS)
@pytest.mark.clause("session.return")
def test_a_browser_is_redirected_to_the_exact_return_url(mockserver: Sandbox, url: str) -> None:
    session = create(mockserver, {"returnUrl": url})

    page = mockserver.end_user(session).connect()

    assert (303, url) == (page.status, page.location)
