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
from urllib.parse import parse_qsl, urlsplit

from mockserver._json import JSON
from mockserver.server.control import page_paths as paths
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_paths import PagePath, page_path
from mockserver.server.dashboard import behaviour, calls, events, objects, overview, rendering
from mockserver.server.errors import STATUSES, ControlError, log_failure
from mockserver.server.hosting.closed import Absence
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
_OPEN_MAX: Final = 50  # sandboxes on the page of one that is not open
_PATH_CHARS: Final = 100  # of the path that was refused


def respond(plane: PageAccess, request: HttpRequest) -> HttpResponse | None:
    """Return the response to a request of the dashboard; None for another page of the control plane that may be shown."""
    path = request.target.partition("?")[0]
    base = urlsplit(request.base_url).path  # the prefix of the sandbox, with the place where the server is mounted
    try:
        if paths.is_redirected(request):
            return _redirect(base + paths.ROOT, ())
        if path in paths.ASSETS:
            plane.check_origin()
            kind = paths.ASSETS[path]
            own = (("Content-Type", f"{kind}; charset=utf-8"), ("Cache-Control", "no-cache"))
            return HttpResponse(200, (*own, *_HEADERS), rendering.asset(path.rpartition("/")[2]))
        if request.method == "POST":
            return _sign_in(plane, request, base)
        plane.check()
        page = page_path(path)
        return None if page is None else _page(plane, request, base, page)
    except ControlError as refusal:
        if refusal.code == "MOCK_TOKEN_WANTED":
            return _sign_in_form(base, request.target, is_again=False)
        return _refusal(plane, request, base, refusal)
    except Exception as failure:  # noqa: BLE001 - a bug of the mock is a page too
        log_failure("unexpected failure in the dashboard", plane.redactor())
        message = f"the mock failed: {type(failure).__name__}; its log has the traceback"
        return _refusal(plane, request, base, ControlError("MOCK_INTERNAL_ERROR", message))


def unknown_page(plane: PageAccess, request: HttpRequest, message: str) -> HttpResponse:
    """Return the page for a browser at a path that no command has."""
    return _refusal(plane, request, urlsplit(request.base_url).path, ControlError("MOCK_NOT_FOUND", message))


def page_of_no_sandbox(plane: PageAccess, request: HttpRequest, absence: Absence) -> HttpResponse:
    """Return the page of a closed or an unknown sandbox: what it was, and what is open for a browser that may list it."""
    try:
        rows = plane.read("listSandboxes")["sandboxes"][::-1]
    except ControlError:  # a page of another site, or a token that opens one sandbox
        rows = None
    frame = _frame(plane, request, urlsplit(request.base_url).path, "")
    status = STATUSES[absence.code]
    title = "Sandbox closed" if status == 410 else "No such sandbox"
    own = {"bar": None, "title": title, "absence": absence, "is_closed": status == 410, "rows": rows, "most": _OPEN_MAX}
    return _html(status, rendering.render("no_sandbox.html", {**frame, **own}))


def _page(plane: PageAccess, request: HttpRequest, base: str, page: PagePath) -> HttpResponse:
    query = dict(parse_qsl(request.target.partition("?")[2], keep_blank_values=True, errors="replace"))
    view = page.view
    if plane.sandbox_id is None and view == "now":
        view = "sandboxes"
    shared = overview.bar(plane) if plane.sandbox_id is not None else {"bar": None}
    template, context = _VIEWS[view](plane, query, page.item)
    text = rendering.render(template, {**_frame(plane, request, base, view), **shared, **context})
    return _html(200, text)


def _frame(plane: PageAccess, request: HttpRequest, base: str, view: str) -> JSON:
    """Return what the frame of every page needs."""
    return {
        "base": base,
        "view": view,
        "views": paths.VIEWS,
        "title": view.capitalize(),
        "sandbox_id": plane.sandbox_id,
        "address": request.base_url,
        "path": request.target,
        "key": plane.key(),
        "needs_token": plane.needs_token(),
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


def _refusal(plane: PageAccess, request: HttpRequest, base: str, refusal: ControlError) -> HttpResponse:
    """Return the page of a refusal: what was refused and why."""
    path = request.target.partition("?")[0]
    refused = {
        "request": f"{request.method} {plane.redactor().brief(path, _PATH_CHARS)}",
        "message": refusal.message,
        "code": f"{refusal.status} {refusal.code}",
    }
    title = "Refused" if refusal.status < 500 else "Failed"
    context = {**_frame(plane, request, base, ""), "bar": None, "title": title, "refused": refused}
    return _html(refusal.status, rendering.render("refusal.html", context), refusal.headers)


def _is_of_pages(path: str, root: str) -> bool:
    return path.startswith(root) and all("!" <= char <= "~" and char != "\\" for char in path)


def _sign_in_form(base: str, next_path: str, *, is_again: bool) -> HttpResponse:
    context = {"base": base, "title": "Token", "next": base + next_path, "is_again": is_again}
    return _html(401, rendering.render("sign_in.html", context))


def _sign_in(plane: PageAccess, request: HttpRequest, base: str) -> HttpResponse:
    """Set the cookie for a form with the token, or clear it for one that signs out; a form of another site is refused."""
    plane.check_origin()
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ControlError(
            "MOCK_FOREIGN_ORIGIN", "Sec-Fetch-Site: expected same-origin; a page of another site sent it"
        )
    form, root = _form(request), base + paths.ROOT
    attributes = f"HttpOnly; SameSite=Strict{'; Secure' if request.base_url.startswith('https:') else ''}"
    if "leave" in form:
        cleared = (f"{name}=; Path={root}; Max-Age=0; {attributes}" for name in plane.cookie_names())
        return _redirect(root, tuple(("Set-Cookie", cookie) for cookie in cleared))
    next_path = form.get("next", "")
    if not _is_of_pages(next_path, root):
        next_path = root
    cookie = plane.cookie_for(form.get("token", "").strip())
    if cookie is None:
        if not plane.needs_token():
            return _redirect(next_path, ())
        return _sign_in_form(base, next_path.removeprefix(base), is_again=True)
    name, value = cookie
    return _redirect(next_path, (("Set-Cookie", f"{name}={value}; Path={root}; {attributes}"),))


def _form(request: HttpRequest) -> dict[str, str]:
    """Return the fields of a form; none for a body that has too many."""
    try:
        text = (request.body or b"").decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_FORM_FIELDS_MAX))
    except ValueError:
        return {}
