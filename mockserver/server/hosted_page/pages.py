"""
Pages of the hosted page: page views as plain values, and their rendering.

A template is in Brazilian Portuguese; the QR code is inline; every page has the security headers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver.core import phone_numbers
from mockserver.core.instants import MINUTE, Instant, to_datetime
from mockserver.core.operations import hosted_flow, return_urls
from mockserver.core.operations.hosted_flow import FlowTarget
from mockserver.core.state.records import HostedFlow
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.hosted_page.request import FLOW_PREFIX, PageRequest, form_token
from mockserver.wire import formats
from mockserver.wire.response import HttpResponse

if TYPE_CHECKING:
    from jinja2 import Environment

ALLOWED = ("GET", "HEAD", "POST")
SECURITY_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("X-Robots-Tag", "noindex, nofollow"),
)

_TEMPLATES = Path(__file__).parent / "templates"
_PAIRING_URL = "https://pareamento.invalid/"  # a name that does not resolve (RFC 6761): a scanned code leads nowhere

# Texts of the pages that refuse a request, by status: title and advice.
_REFUSALS: Mapping[int, tuple[str, str]] = {
    400: (
        "Não foi possível processar o formulário",
        "Ele chegou incompleto. Volte à página anterior e tente novamente.",
    ),
    403: ("Envio recusado", "Este envio não veio da página de conexão. Volte a ela e tente novamente."),
    405: ("Operação não disponível", "Esta página não aceita esse tipo de requisição."),
    413: ("Envio grande demais", "O formulário ultrapassa o tamanho aceito. Volte e tente novamente."),
    415: ("Formato não aceito", "Envie o formulário pela própria página de conexão."),
    500: ("Ocorreu um erro inesperado", "Tente novamente em instantes."),
}
_PROBLEMS = {
    "phone": f"O telefone informado não é válido. Digite o número com DDD, como {phone_numbers.EXAMPLE}, ou com o código do país.",
    "name": f"Digite um nome de 1 a {hosted_flow.NAME_MAX_CHARS} caracteres para a nova conta.",
    "account": "Escolha uma das contas.",
}

_FIELDS = ("account", "name", "number", "phone")  # of the forms


class PageView(NamedTuple):
    """
    A page before it is rendered.

    Attributes:
        page: the name of the template.
        step: the step under which the visit is recorded.
        variables: of the template.
        location: a redirect to this url instead of a page.
        form_origin: the origin of another site to which the forms may lead, as a source of the CSP; empty if none.
    """

    status: int
    page: str
    step: str
    variables: Mapping[str, Any]
    location: str | None = None
    form_origin: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def gone_page() -> PageView:
    """Return the page of a link that is used up, expired or unknown (fixed decision `link-after-use`)."""
    return PageView(410, "gone", "gone", {})


def error_page(status: int) -> PageView:
    """Return the page for a request that is not a step of a flow."""
    title, advice = _REFUSALS[status]
    headers = (("Allow", ", ".join(ALLOWED)),) if status == 405 else ()
    return PageView(status, "refused", "refused", {"title": title, "advice": advice}, headers=headers)


def redirect(location: str, step: str) -> PageView:
    """Return a redirect, which the browser follows with GET."""
    return PageView(status=303, page="", step=step, variables={}, location=location)


def flow_path(page_request: PageRequest, flow: HostedFlow, page: str) -> str:
    """Return the path of a page of the flow."""
    return f"{page_request.prefix}/connect/{FLOW_PREFIX}{flow.secret}/{page}"


def link_page(sandbox: SandboxState, page_request: PageRequest, target: FlowTarget) -> PageView:
    """Return the first page of a valid link, before the flow begins."""
    steps = hosted_flow.FLOW_STEPS[target.session.coexistence]
    return _page_view(
        sandbox, page_request, target, 200, steps[0], {"action": f"{page_request.prefix}/connect/{page_request.key}"}
    )


def flow_page(
    sandbox: SandboxState,
    page_request: PageRequest,
    target: FlowTarget,
    page: str,
    form: Mapping[str, str] = MappingProxyType({}),
    wrong_field: str = "",
) -> PageView:
    """
    Return a page of the flow: a step, or its end.

    Args:
        form: what the end user has typed, if this is the page with the error of a field.
        wrong_field: its name.
    """
    assert target.flow is not None
    variables = {
        "action": flow_path(page_request, target.flow, page),
        "problem": wrong_field,
        "problem_text": _PROBLEMS.get(wrong_field),
        "given": {name: form.get(name, "")[: hosted_flow.NAME_MAX_CHARS] for name in _FIELDS},
    }
    status = 410 if page == "expired" else 200
    if wrong_field:
        status = 422
    return _page_view(sandbox, page_request, target, status, page, variables)


def _page_view(
    sandbox: SandboxState,
    page_request: PageRequest,
    target: FlowTarget,
    status: int,
    page: str,
    variables: Mapping[str, Any],
) -> PageView:
    tenant, session, flow = target
    steps = hosted_flow.FLOW_STEPS[session.coexistence]
    defaults = {
        "page": page,
        "given": dict.fromkeys(_FIELDS, ""),
        "problem": "",
        "problem_text": None,
        "secret": form_token(sandbox, page_request.key),
        "tenant": tenant.name,
        "example_phone": phone_numbers.EXAMPLE,
        "flow": flow,
        "numbers": hosted_flow.suggested_numbers(sandbox, session) if page == "number" else (),
        "pairing": hosted_flow.pairing_code(sandbox, session) if page == "app" else "",
        "coexistence": session.coexistence,
        "has_panel": sandbox.choices["simulate-panel"] == "shown",
        "steps": steps[1:],
        "reached": steps.index(page) if page in steps else len(steps),
        "time_left": time_left(sandbox, session.expires_at),
        "back": hosted_flow.return_redirect(sandbox, session),
        "ending": None if page in steps else ending(sandbox, target, page),
    }
    template = page if page in steps else "end"
    # Chromium applies form-action to the redirect after a form as well, so that the origin has to be listed.
    form_origin = return_urls.source(session.return_url) if session.return_url is not None else ""
    return PageView(status, template, page, {**defaults, **variables}, form_origin=form_origin)


def date(sandbox: SandboxState) -> tuple[str, str]:
    """Return the Date header, by the sandbox's clock."""
    return "Date", formats.http_date(sandbox.now)


def render_page(view: PageView, prefix: str, date: tuple[str, str]) -> HttpResponse:
    """Return the response with the rendered page, or with the redirect."""
    policy = ("Content-Security-Policy", _policy(view))
    if view.location is not None:
        return HttpResponse(view.status, (date, ("Location", view.location), policy, *SECURITY_HEADERS), b"")
    variables = {**view.variables, "prefix": prefix}
    if variables.get("pairing"):
        import segno

        drawing: str = segno.make(_PAIRING_URL + variables["pairing"], micro=False, error="m").svg_inline(
            scale=6, border=4, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None
        )
        variables["qr"] = drawing
    body = _environment().get_template(f"{view.page}.html").render(variables).encode()
    return HttpResponse(
        view.status,
        (("Content-Type", "text/html; charset=utf-8"), date, policy, *view.headers, *SECURITY_HEADERS),
        body,
    )


def _policy(view: PageView) -> str:
    """Return the CSP: the page's own stylesheet and icon; forms to this server, and from there to the returnUrl's origin."""
    forms = " ".join(filter(None, ("'self'", view.form_origin))) if "secret" in view.variables else "'none'"
    return (
        "default-src 'none'; style-src 'self'; img-src 'self'; "
        f"form-action {forms}; frame-ancestors 'none'; base-uri 'none'"
    )


@cache
def _environment() -> Environment:
    """Return the templates, loaded for the first page only."""
    from mockserver import _templates

    environment = _templates.environment(_TEMPLATES)
    environment.filters["phone"] = phone_numbers.readable
    return environment


_MONTHS = ("janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro")  # fmt: skip
_BRASILIA = timedelta(hours=-3)  # from UTC; fixed, so that the page does not depend on the machine's time zones
_NEW_LINK = "Peça um novo link a quem enviou este."


class Ending(NamedTuple):
    """
    The end of a flow as its last page shows it: how it ended, and what to do next.

    Attributes:
        tone: the colour and sign: good, calm or bad.
        facts: what was connected, or until when it could be, as rows of label and value.
    """

    tone: str
    title: str
    text: str
    advice: str
    facts: tuple[tuple[str, str], ...] = ()


def ending(sandbox: SandboxState, target: FlowTarget, page: str) -> Ending:
    """Return the end for one of the pages completed, cancelled, failed and expired."""
    tenant, session, flow = target
    if page == "completed":
        # The entrypoint may also be one that a command of the control plane has created.
        entrypoint = tenant.entrypoints.get(session.entrypoint_id or "")
        ended_at = hosted_flow.ended_at(sandbox, session)
        rows = {
            "Número": phone_numbers.readable((entrypoint and entrypoint.display_phone) or ""),
            "Conta": entrypoint.name if entrypoint else "",
            "Modo": "Com o aplicativo do celular" if session.coexistence else "Somente na plataforma",
            "Quando": local_time(ended_at) if ended_at is not None else "",
        }
        connected = tuple((label, value) for label, value in rows.items() if value)
        text = f"{tenant.name} já pode enviar e receber mensagens por este número."
        return Ending(tone="good", title="Número conectado", text=text, advice="", facts=connected)
    if page == "cancelled":
        return Ending(
            "calm",
            "Conexão cancelada",
            "Nada foi conectado.",
            f"Se mudar de ideia, {_NEW_LINK[0].lower()}{_NEW_LINK[1:]}",
        )
    if page == "expired":
        text = "O link de conexão expirou antes da conclusão. Nada foi conectado."
        facts = (("Prazo", local_time(session.expires_at)),)
        return Ending(
            tone="bad",
            title="O prazo terminou",
            text=text,
            advice=f"{_NEW_LINK} Ele valerá por 20 minutos.",
            facts=facts,
        )
    return Ending("bad", "Não foi possível conectar", *_failure(session.reason, flow.phone if flow else None))


def _failure(reason: str | None, phone: str | None) -> tuple[str, str]:
    """Return what went wrong, and what the end user can do about it."""
    if reason == "phone_in_use":
        number = f"O número {phone_numbers.readable(phone)}" if phone else "Este número"
        advice = "Para usar outro número, ou depois de desvinculá-lo de lá, peça um novo link a quem enviou este."
        return f"{number} já está vinculado a outra conta ou a outro canal.", advice
    if reason == "funnel_not_found":
        text = "O funil ou a etapa que receberia as conversas não existe mais."
        return text, "Avise quem enviou este link: a configuração precisa ser corrigida antes de uma nova tentativa."
    text = "O provedor não concluiu a autorização. Nada foi conectado."
    return text, f"Costuma ser temporário: espere alguns minutos. {_NEW_LINK}"


def local_time(at: Instant) -> str:
    """Return an instant in Brazil's official time, named, since the end user's time zone is unknown."""
    local = to_datetime(at) + _BRASILIA
    day = "1º" if local.day == 1 else str(local.day)
    return f"{day} de {_MONTHS[local.month - 1]} de {local.year}, às {local:%H:%M} (horário de Brasília)"


def time_left(sandbox: SandboxState, until: Instant) -> str:
    """Return how long something is still valid, in started minutes of the sandbox's clock."""
    minutes = -(-(until - sandbox.now) // MINUTE)
    return f"{minutes} minutos" if minutes > 1 else "1 minuto"
