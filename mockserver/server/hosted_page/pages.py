"""
Pages of the hosted page: what a request shows, and its rendering.

Scenes: what a request to the hosted page met, as plain values from which its page is drawn.

Drawing a scene: its template in Brazilian Portuguese, its QR code, and the headers that guard every page.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver.contract.errors import SESSION_MESSAGES
from mockserver.core import phone_numbers
from mockserver.core.instants import to_datetime
from mockserver.core.operations import hosted_flow, return_urls
from mockserver.core.operations.hosted_flow import FlowTarget
from mockserver.core.state.records import HostedFlow
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.api import formats
from mockserver.server.api.response import HttpResponse
from mockserver.server.hosted_page.request import WALK, PageRequest, form_token

if TYPE_CHECKING:
    from jinja2 import Environment


ALLOWED = ("GET", "HEAD", "POST")

# The words of the pages that refuse a request, by status: title and what to do.
_REFUSALS: Mapping[int, tuple[str, str]] = {
    400: ("Não entendemos o envio", "O formulário chegou incompleto. Volte à página anterior e tente novamente."),
    403: ("Envio recusado", "Este envio não partiu desta página. Volte à página de conexão e tente de novo."),
    405: ("Operação não disponível", "Esta página não aceita esse tipo de requisição."),
    413: ("Envio grande demais", "O formulário ultrapassa o tamanho aceito. Volte e tente novamente."),
    415: ("Formato não aceito", "Envie o formulário pela própria página de conexão."),
    500: ("Ocorreu um erro inesperado", "Tente novamente em instantes."),
}
_PROBLEMS = {
    "name": f"Informe um nome de 1 a {hosted_flow.NAME_MAX_CHARS} caracteres para a nova conta.",
    "account": "Escolha uma das contas.",
}

_BLANK = {"account": "", "name": "", "number": "", "phone": ""}  # what a form says that nobody has filled in


class PageView(NamedTuple):
    """
    `page` names the template; `step` what a visit of it is booked as. With a `location` the browser is sent there and
    nothing is drawn. `goes_to` is what the forms of the page may lead to outside of it, as a source of the CSP.
    """

    status: int
    page: str
    step: str
    facts: Mapping[str, Any]
    location: str | None = None
    goes_to: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def gone_page() -> PageView:
    """The one page for links that lead nowhere: used up, expired or unknown (fixed decision `link-after-use`)."""
    return PageView(410, "gone", "gone", {})


def error_page(status: int) -> PageView:
    """The page for a request that is no step of a walk."""
    title, advice = _REFUSALS[status]
    headers = (("Allow", ", ".join(ALLOWED)),) if status == 405 else ()
    return PageView(status, "refused", "refused", {"title": title, "advice": advice}, headers=headers)


def redirect(location: str, step: str) -> PageView:
    """The browser goes on with GET to there."""
    return PageView(303, "", step, {}, location)


def walk_path(asked: PageRequest, walk: HostedFlow) -> str:
    return f"{asked.prefix}/connect/{WALK}{walk.secret}"


def link_page(sandbox: SandboxState, asked: PageRequest, found: FlowTarget) -> PageView:
    """The first page, as the good link shows it: nothing has begun yet."""
    steps = hosted_flow.FLOW_STEPS[found.session.coexistence]
    return _drawn(sandbox, asked, found, 200, steps[0], {"action": f"{asked.prefix}/connect/{asked.key}"})


def flow_page(
    sandbox: SandboxState,
    asked: PageRequest,
    found: FlowTarget,
    *,
    step: str = "",
    problem: str = "",
    given: Mapping[str, str] | None = None,
) -> PageView:
    """
    What the walk shows now: its step, or how it ended.

    With a `problem` it is that `step` again, with what was `given` and what is wrong about it.
    """
    assert found.walk is not None
    page = step if problem else hosted_flow.current_page(sandbox, found.session, found.walk)
    facts = {
        "action": walk_path(asked, found.walk),
        "problem": problem,
        "said": _problem(problem, found.tenant.country),
        "given": {**_BLANK, **(given or {})},
    }
    status = 422 if problem else 410 if page == "expired" else 200
    return _drawn(sandbox, asked, found, status, page, facts)


def _problem(field: str, country: str) -> str | None:
    """What is wrong with the field that was filled in, in the words of the page."""
    if field == "phone":
        example = phone_numbers.example(country)
        return f"O telefone informado não é válido. Informe o número com DDD, como {example}, ou com o código do país."
    return _PROBLEMS.get(field)


def _drawn(
    sandbox: SandboxState, asked: PageRequest, found: FlowTarget, status: int, page: str, facts: Mapping[str, Any]
) -> PageView:
    tenant, session, walk = found
    steps = hosted_flow.FLOW_STEPS[session.coexistence]
    known = {
        "page": page,
        "given": _BLANK,
        "problem": "",
        "said": None,
        "secret": form_token(sandbox, asked.key),
        "tenant": tenant.name,
        "dialled": phone_numbers.example(tenant.country) if page == "number" else "",
        "walk": walk,
        "numbers": hosted_flow.suggested_numbers(sandbox, session) if page == "number" else (),
        "pairing": hosted_flow.pairing_code(sandbox, session) if page == "app" else "",
        "coexistence": session.coexistence,
        "steps": steps[1:],
        "reached": steps.index(page) if page in steps else len(steps),
        "until": f"{to_datetime(session.expires_at):%H:%M}",
        "back": hosted_flow.return_redirect(sandbox, session),
        "message": SESSION_MESSAGES.get("expired" if page == "expired" else session.reason or "", ("", ""))[0],
    }
    template = page if page in steps else "end"
    # Chromium holds the redirect after a form to form-action as well, so that the origin has to be named.
    goes_to = return_urls.source(session.return_url) if session.return_url is not None else ""
    return PageView(status, template, page, {**known, **facts}, goes_to=goes_to)


_TEMPLATES = Path(__file__).parent / "templates"
_PAIRING = "https://pareamento.invalid/"  # a name that resolves nowhere (RFC 6761): a scanned code leads to nobody

SECURITY_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("X-Robots-Tag", "noindex, nofollow"),
)


def date(sandbox: SandboxState) -> tuple[str, str]:
    """The Date header, by the sandbox's clock."""
    return "Date", formats.http_date(sandbox.now)


def render_page(scene: PageView, prefix: str, date: tuple[str, str]) -> HttpResponse:
    """The answer that shows the scene, or sends the browser to its location."""
    policy = ("Content-Security-Policy", _policy(scene))
    if scene.location is not None:
        return HttpResponse(scene.status, (date, ("Location", scene.location), policy, *SECURITY_HEADERS), b"")
    facts = {**scene.facts, "prefix": prefix}
    if facts.get("pairing"):
        facts["qr"] = _qr_code(_PAIRING + facts["pairing"])
    body = _environment().get_template(f"{scene.page}.html").render(facts).encode()
    return HttpResponse(
        scene.status,
        (("Content-Type", "text/html; charset=utf-8"), date, policy, *scene.headers, *SECURITY_HEADERS),
        body,
    )


def _policy(scene: PageView) -> str:
    """Nothing but our own stylesheet and icon; forms go to us, and from there to the returnUrl's origin."""
    forms = " ".join(filter(None, ("'self'", scene.goes_to))) if "secret" in scene.facts else "'none'"
    return (
        "default-src 'none'; style-src 'self'; img-src 'self'; "
        f"form-action {forms}; frame-ancestors 'none'; base-uri 'none'"
    )


@cache
def _environment() -> Environment:
    """The templates; made when the first page is asked for, so that nobody else pays for it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _qr_code(content: str) -> str:
    """The code as an inline drawing without styles or scripts."""
    import segno

    drawing: str = segno.make(content, micro=False, error="m").svg_inline(
        scale=6, border=4, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None
    )
    return drawing
