"""Requests to the hosted page: link or flow, and form, before any check."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mockserver.core import ids
from mockserver.core.state.sandbox import SandboxState
from mockserver.wire.request import HttpRequest

FLOW_PREFIX = "walk/"  # of the path of a flow, which its secret and the page follow
_FIELDS_MAX = 40
_FORM_TYPE = "application/x-www-form-urlencoded"


class PageRequest(NamedTuple):
    """
    One request.

    Attributes:
        is_flow: True for the url of a flow, False for a link.
        key: the flow's secret, or the link's token.
        page: the page of the flow in the url; empty for a link.
        form: the fields; None without a readable form.
        error_status: of a form that is not readable, else 0.
        is_foreign: True if a page of another site sent it.
        prefix: the path of the sandbox's base url.
    """

    method: str
    is_flow: bool
    key: str
    page: str
    form: Mapping[str, str] | None
    error_status: int
    is_foreign: bool
    prefix: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:  # the key is a secret
        return f"PageRequest(method={self.method!r}, is_flow={self.is_flow})"


def read(request: HttpRequest) -> PageRequest:
    """Return the request to the page."""
    key, page = request.target.partition("?")[0].removeprefix("/connect/"), ""
    is_flow = key.startswith(FLOW_PREFIX)
    if is_flow:
        key, _, page = key.removeprefix(FLOW_PREFIX).partition("/")
    form, error_status = _form(request) if request.method == "POST" else (None, 0)
    base = urlsplit(request.base_url)
    return PageRequest(
        method=request.method,
        is_flow=is_flow,
        key=key,
        page=page,
        form=form,
        error_status=error_status,
        is_foreign=_is_foreign(request.headers, base.netloc),
        prefix=base.path,
        headers=request.headers,
    )


def _form(request: HttpRequest) -> tuple[Mapping[str, str] | None, int]:
    """Return the fields of a form, the last of each name, or the status of the error."""
    if request.body is None:
        return None, 413
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        return None, 415
    try:
        text = request.body.decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=_FIELDS_MAX)), 0
    except ValueError:
        return None, 400


def _is_foreign(headers: Mapping[str, str], own: str) -> bool:
    """
    Return True if the browser's headers show that a page of another site sent the request.

    Under `Referrer-Policy: no-referrer` a browser sends `Origin: null` from this page's own forms too (Fetch, "append a
    request Origin header"), so that null alone decides nothing: Sec-Fetch-Site and the form's secret do.
    """
    if headers.get("sec-fetch-site", "none").lower() not in ("same-origin", "none"):
        return True
    origin = headers.get("origin", "null")
    return origin != "null" and origin.partition("://")[2].lower() != own.lower()


def form_token(sandbox: SandboxState, key: str) -> str:
    """Return the secret in each form of this link or flow, which no page of another site has."""
    return ids.seeded_id(sandbox.seed, "form of a hosted page", key, chars=40)


def has_valid_form_token(sandbox: SandboxState, page_request: PageRequest) -> bool:
    """Return True if the form has its secret; compared in constant time."""
    received = (page_request.form or {}).get("secret", "")
    return hmac.compare_digest(received.encode(), form_token(sandbox, page_request.key).encode())
