"""
Requests of the dashboard: pages, their assets, and the forms that take the token and sign out.

1. A page reads the control plane's own answers and writes nothing: each action on it is a call of the control plane, which
   the page's script sends.
2. Beyond loopback a browser types the token into a form once; the cookie that follows opens the pages of one sandbox.
3. A refusal is a page too, with the status and the message of the control plane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qsl

from mockserver._json import JSON
from mockserver.server.control import access
from mockserver.server.control import page_paths as paths
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_paths import PagePath, page_path
from mockserver.server.dashboard import behaviour, calls, events, objects, overview, rendering
from mockserver.server.errors import ControlError, log_failure
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse

View = Callable[[PageAccess, Mapping[str, str], str], tuple[str, JSON]]

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
_VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {
        "now": overview.now,
        "sandboxes": overview.sandboxes,
        "calls": calls.calls,
        "objects": objects.objects,
        "events": events.events,
        "choices": behaviour.choices,
        "scenarios": behaviour.scenarios,
    }
)
_FORM_FIELDS_MAX: Final = 10
_PATH_CHARS: Final = 100  # of the path that was refused


def respond(plane: PageAccess) -> HttpResponse | None:
    """Return the response to a request of the dashboard; None for another page of the control plane that may be shown."""
    request = plane.request
    try:
        if paths.is_redirected(request):
            return _redirect(plane.base + paths.ROOT, ())
        if plane.path in paths.ASSETS:
            return _asset(plane)
        if request.method == "POST":
            return _sign_in(plane)
        access.check_page(plane.host, plane.hosted, request)
        page = page_path(plane.path)
        return None if page is None else _page(plane, page)
    except ControlError as refusal:
        if refusal.code == "MOCK_TOKEN_WANTED":
            return _sign_in_form(plane, request.target, is_again=False)
        return _refusal(plane, refusal)
    except Exception as failure:  # noqa: BLE001 - a bug of the mock is a page too
        log_failure("unexpected failure in the dashboard", plane.redactor())
        message = f"the mock failed: {type(failure).__name__}; its log has the traceback"
        return _refusal(plane, ControlError("MOCK_INTERNAL_ERROR", message))


def _asset(plane: PageAccess) -> HttpResponse:
    access.check_origin(plane.host, plane.request)
    own = (("Content-Type", f"{paths.ASSETS[plane.path]}; charset=utf-8"), ("Cache-Control", "no-cache"))
    return HttpResponse(200, (*own, *_HEADERS), rendering.asset(plane.path.rpartition("/")[2]))


def _page(plane: PageAccess, page: PagePath) -> HttpResponse:
    query = dict(parse_qsl(plane.request.target.partition("?")[2], keep_blank_values=True, errors="replace"))
    view = page.view
    if plane.hosted is None and view == "now":
        view = "sandboxes"
    shared = overview.bar(plane) if plane.hosted is not None else {"bar": None}
    template, context = _VIEWS[view](plane, query, page.item)
    return _html(200, rendering.render(template, {**_frame(plane, view), **shared, **context}))


def _frame(plane: PageAccess, view: str) -> JSON:
    """Return what the frame of every page needs."""
    return {
        "base": plane.base,
        "view": view,
        "views": paths.VIEWS,
        "title": view.capitalize(),
        "sandbox_id": plane.hosted.id if plane.hosted is not None else None,
        "address": plane.request.base_url,
        "path": plane.request.target,
        "key": plane.key(),
        "needs_token": plane.host.token is not None,
    }


def _html(status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> HttpResponse:
    own = (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Cache-Control", "no-store"),
        ("Vary", "Accept"),
        ("Content-Security-Policy", _POLICY),
    )
    return HttpResponse(status, (*own, *_HEADERS, *headers), text.encode("utf-8", "replace"))


def _redirect(location: str, headers: tuple[tuple[str, str], ...]) -> HttpResponse:
    own = (("Location", location), ("Cache-Control", "no-store"), ("Vary", "Accept"))
    return HttpResponse(303, (*own, *headers), b"")


def _refusal(plane: PageAccess, refusal: ControlError) -> HttpResponse:
    """Return the page of a refusal: what was refused and why."""
    refused = {
        "request": f"{plane.request.method} {plane.redactor().brief(plane.path, _PATH_CHARS)}",
        "message": refusal.message,
        "code": f"{refusal.status} {refusal.code}",
    }
    title = "Refused" if refusal.status < 500 else "Failed"
    context = {**_frame(plane, ""), "bar": None, "title": title, "refused": refused}
    return _html(refusal.status, rendering.render("refusal.html", context), refusal.headers)


def _is_of_pages(path: str, root: str) -> bool:
    return path.startswith(root) and all("!" <= char <= "~" and char != "\\" for char in path)


def _sign_in_form(plane: PageAccess, next_path: str, *, is_again: bool) -> HttpResponse:
    context = {"base": plane.base, "title": "Token", "next": plane.base + next_path, "is_again": is_again}
    return _html(401, rendering.render("sign_in.html", context))


def _sign_in(plane: PageAccess) -> HttpResponse:
    """Set the cookie for a form with the token, or clear it for one that signs out; a form of another site is refused."""
    request = plane.request
    access.check_origin(plane.host, request)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ControlError(
            "MOCK_FOREIGN_ORIGIN", "Sec-Fetch-Site: expected same-origin; a page of another site sent it"
        )
    form, root = _form(request), plane.base + paths.ROOT
    attributes = f"HttpOnly; SameSite=Strict{'; Secure' if request.base_url.startswith('https:') else ''}"
    if "leave" in form:
        cleared = (
            f"{name}=; Path={root}; Max-Age=0; {attributes}" for name in access.cookie_names(plane.host, plane.hosted)
        )
        return _redirect(root, tuple(("Set-Cookie", cookie) for cookie in cleared))
    next_path = form.get("next", "")
    if not _is_of_pages(next_path, root):
        next_path = root
    if plane.host.token is None:
        return _redirect(next_path, ())
    token = access.find_token(plane.host, plane.hosted, form.get("token", "").strip())
    if token is None:
        return _sign_in_form(plane, next_path.removeprefix(plane.base), is_again=True)
    name, value = access.session_cookie(token)
    return _redirect(next_path, (("Set-Cookie", f"{name}={value}; Path={root}; {attributes}"),))


def _form(request: HttpRequest) -> dict[str, str]:
    """Return the fields of a form; none for a body that has too many."""
    try:
        text = (request.body or b"").decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_FORM_FIELDS_MAX))
    except ValueError:
        return {}
