"""What a request to the hosted page asks for: which link or walk, and what its form says; nothing of it is believed yet."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mockserver.core import ids
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.api.request import HttpRequest

WALK = "walk/"
_FIELDS_MAX = 40
_FORM_TYPE = "application/x-www-form-urlencoded"


class PageRequest(NamedTuple):
    """
    One request: `key` is the link's token or the walk's secret, whichever `is_walk` says.

    `form` is None where there is no readable one, and `wrong` is then the status that says so. `prefix` is the path of
    the sandbox's base url, `foreign` tells that a page of another site sent it.
    """

    method: str
    is_walk: bool
    key: str
    form: Mapping[str, str] | None
    wrong: int
    foreign: bool
    prefix: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:  # the key is a secret
        return f"Asked(method={self.method!r}, is_walk={self.is_walk})"


def read(wire: HttpRequest) -> PageRequest:
    """The request as the page takes it."""
    key = wire.target.partition("?")[0].removeprefix("/connect/")
    is_walk = key.startswith(WALK)
    form, wrong = _form(wire) if wire.method == "POST" else (None, 0)
    base = urlsplit(wire.base_url)
    foreign = _is_foreign(wire.headers, base.netloc)
    return PageRequest(wire.method, is_walk, key.removeprefix(WALK), form, wrong, foreign, base.path, wire.headers)


def _form(wire: HttpRequest) -> tuple[Mapping[str, str] | None, int]:
    """The fields of a form, the last of each name; or the status that says why there are none."""
    if wire.body is None:
        return None, 413
    if wire.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        return None, 415
    try:
        written = wire.body.decode("utf-8", "replace")
        return dict(parse_qsl(written, keep_blank_values=True, errors="replace", max_num_fields=_FIELDS_MAX)), 0
    except ValueError:
        return None, 400


def _is_foreign(headers: Mapping[str, str], own: str) -> bool:
    """
    True where a browser says that another site's page sent the request.

    Under `Referrer-Policy: no-referrer` a browser says `Origin: null` of our own forms too (Fetch, "append a request
    Origin header"), so that null alone tells nothing: then Sec-Fetch-Site and the form's secret decide.
    """
    if headers.get("sec-fetch-site", "none").lower() not in ("same-origin", "none"):
        return True
    origin = headers.get("origin", "null")
    return origin != "null" and origin.partition("://")[2].lower() != own.lower()


def form_token(sandbox: SandboxState, key: str) -> str:
    """What a form of this link or walk carries, so that no other page can have made it."""
    return ids.seeded_id(sandbox.seed, "form of a hosted page", key, chars=40)


def has_valid_form_token(sandbox: SandboxState, asked: PageRequest) -> bool:
    """True where the form carries its secret; compared in constant time."""
    came = (asked.form or {}).get("secret", "")
    return hmac.compare_digest(came.encode(), form_token(sandbox, asked.key).encode())
