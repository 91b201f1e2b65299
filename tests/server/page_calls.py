"""The requests that the tests of the hosted page make, one by one, as no well-behaved browser would."""

from __future__ import annotations

import re
from urllib.parse import urlencode, urlsplit

from tests.operations.session_calls import create

FORM = {"content-type": "application/x-www-form-urlencoded"}
GONE = "Este link não está mais disponível. Peça um novo link a quem o enviou."


def link(sandbox, body=None, *, key=None) -> str:
    """The path of a fresh session's url, inside the sandbox's prefix."""
    return inside(sandbox, create(sandbox, body, key=key)["url"])


def inside(sandbox, url: str) -> str:
    """The path of one of the sandbox's urls or locations, below its prefix."""
    return urlsplit(url).path.removeprefix(f"/sandboxes/{sandbox.id}")


def get(sandbox, path, **headers):
    """GET a path; from the path of a flow alone the redirect to its current page is followed."""
    sent = {name.replace("_", "-"): each for name, each in headers.items()}
    reply = sandbox.call("GET", path, key="", headers=sent)
    if re.fullmatch(r"/connect/walk/\w+", path) and reply.status == 303:
        return sandbox.call("GET", inside(sandbox, reply.headers["location"]), key="", headers=sent)
    return reply


def fields(reply) -> dict[str, str]:
    """The hidden fields of a page's form."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', reply.body.decode())
    return dict(found)


def post(sandbox, path, form, **headers):
    """Send a form: its fields, or bytes as they are."""
    body = form if isinstance(form, bytes) else urlencode(form).encode()
    sent = FORM | {name.replace("_", "-"): each for name, each in headers.items()}
    return sandbox.call("POST", path, key="", body=body, headers=sent)


def press(sandbox, path, button="continue", **given):
    """Open the page at the path and press one of its buttons."""
    return post(sandbox, path, fields(get(sandbox, path)) | given | {"press": button})


def begun(sandbox, body=None) -> tuple[str, str]:
    """The path of a fresh session's link, and of the flow that pressing continue began."""
    path = link(sandbox, body)
    return path, flow_path(sandbox, press(sandbox, path))


def flow_path(sandbox, reply) -> str:
    """The path of the flow to whose page a form was redirected."""
    return inside(sandbox, reply.headers["location"]).rpartition("/")[0]


def visits(sandbox):
    """The visits that the sandbox has recorded."""
    return list(sandbox._hosted.sandbox.visits)
