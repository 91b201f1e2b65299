"""The hosted page by every way into a sandbox: its links, files and forms stay under the way that it was asked by."""

import json
import re
from urllib.parse import urlencode, urlsplit

import pytest

from tests.testing.ways import WAYS

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("name", WAYS)
def test_the_page_walks_on_under_the_way_it_was_asked_by(mockserver, name):
    way = WAYS[name](mockserver)
    mount = urlsplit(way.base_url).path
    key = {"X-API-Key": mockserver.secret_key}
    created = way.ask("POST", "/v1/entrypoints/chatapp/connection-sessions", key, b"")
    link = urlsplit(json.loads(created.body)["url"]).path.removeprefix(mount)

    intro = way.ask("GET", link, {}, b"").body.decode()
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', intro)) | {"press": "continue"}
    too_large = way.ask("POST", link, FORM, urlencode(form).encode() + b"&" + b"x" * 20_000)
    style = re.findall(r'rel="stylesheet" href="([^"]+)"', intro)[0]
    sent = way.ask("POST", link, FORM, urlencode(form).encode())
    account = way.ask("GET", sent.headers["location"].removeprefix(mount), {}, b"")

    assert (413, 303, 200) == (too_large.status, sent.status, account.status)
    assert style.startswith(mount + "/")
    assert 200 == way.ask("GET", style.removeprefix(mount), {}, b"").status
    assert sent.headers["location"].startswith(mount + "/connect/walk/")
    assert "Escolha a conta comercial" in account.body.decode()
