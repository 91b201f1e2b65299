"""The requests that the tests of the hosted page make, one by one, as no well-behaved browser would."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode, urlsplit

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.core.state.records import PageVisit
from mockserver.testing.transports.in_process import Response
from tests.operations.session_calls import create
from tests.server.hostile import Answer

FORM = {"content-type": "application/x-www-form-urlencoded"}
GONE = "Este link não está mais disponível. Peça um novo link a quem o enviou."


def link(sandbox: Sandbox, body: JSON | None = None, *, key: str | None = None) -> str:
    """The path of a fresh session's url, inside the sandbox's prefix."""
    return inside(sandbox, create(sandbox, body, key=key)["url"])


def inside(sandbox: Sandbox, url: str) -> str:
    """The path of one of the sandbox's urls or locations, below its prefix."""
    return urlsplit(url).path.removeprefix(f"/sandboxes/{sandbox.id}")


def get(sandbox: Sandbox, path: str, **headers: str) -> Response:
    """GET a path; from the path of a flow alone the redirect to its current page is followed."""
    sent = {name.replace("_", "-"): each for name, each in headers.items()}
    reply = sandbox.call("GET", path, key="", headers=sent)
    if re.fullmatch(r"/connect/walk/\w+", path) and reply.status == 303:
        return sandbox.call("GET", inside(sandbox, reply.headers["location"]), key="", headers=sent)
    return reply


def fields(reply: Answer | Response) -> dict[str, str]:
    """The hidden fields of a page's form."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', reply.body.decode())
    return dict(found)


def post(sandbox: Sandbox, path: str, form: Any, **headers: str) -> Response:
    """Send a form: its fields, or bytes as they are."""
    body = form if isinstance(form, bytes) else urlencode(form).encode()
    sent = FORM | {name.replace("_", "-"): each for name, each in headers.items()}
    return sandbox.call("POST", path, key="", body=body, headers=sent)


def press(sandbox: Sandbox, path: str, button: str = "continue", **given: str) -> Response:
    """Open the page at the path and press one of its buttons."""
    return post(sandbox, path, fields(get(sandbox, path)) | given | {"press": button})


def begun(sandbox: Sandbox, body: JSON | None = None) -> tuple[str, str]:
    """The path of a fresh session's link, and of the flow that pressing continue began."""
    path = link(sandbox, body)
    return path, flow_path(sandbox, press(sandbox, path))


def flow_path(sandbox: Sandbox, reply: Response) -> str:
    """The path of the flow to whose page a form was redirected."""
    return inside(sandbox, reply.headers["location"]).rpartition("/")[0]


def visits(sandbox: Sandbox) -> list[PageVisit]:
    """The visits that the sandbox has recorded."""
    return list(sandbox._hosted.sandbox.visits)
