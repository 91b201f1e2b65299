"""The hosted page by every access into a sandbox: its links, files and forms stay under the address of the request."""

import json
import re
from urllib.parse import urlencode, urlsplit

import pytest

from mockserver import Sandbox
from tests.harness.access import ALL

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("name", ALL)
def test_the_flow_continues_under_the_url_of_its_first_request(mockserver: Sandbox, name: str) -> None:
    access = ALL[name](mockserver)
    mount = urlsplit(access.base_url).path
    key = {"X-API-Key": mockserver.secret_key}
    created = access.ask("POST", "/v1/entrypoints/chatapp/connection-sessions", key, b"")
    link = urlsplit(json.loads(created.body)["url"]).path.removeprefix(mount)

    intro = access.ask("GET", link, {}, b"").body.decode()
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', intro)) | {"press": "continue"}
    too_large = access.ask("POST", link, FORM, urlencode(form).encode() + b"&" + b"x" * 20_000)
    style = re.findall(r'rel="stylesheet" href="([^"]+)"', intro)[0]
    sent = access.ask("POST", link, FORM, urlencode(form).encode())
    account = access.ask("GET", sent.headers["location"].removeprefix(mount), {}, b"")

    assert (413, 303, 200) == (too_large.status, sent.status, account.status)
    assert style.startswith(mount + "/")
    assert 200 == access.ask("GET", style.removeprefix(mount), {}, b"").status
    assert sent.headers["location"].startswith(mount + "/connect/walk/")
    assert "Escolha a conta comercial" in account.body.decode()
