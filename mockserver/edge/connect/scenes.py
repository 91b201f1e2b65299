"""Scenes: what a request to the hosted page met, as plain values from which its page is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.contract.errors import SESSION_MESSAGES
from mockserver.core import hosted, phones, return_urls
from mockserver.core.hosted import Found
from mockserver.core.instants import to_datetime
from mockserver.core.sandbox import Sandbox
from mockserver.core.walks import Walk
from mockserver.edge.connect.asking import WALK, Asked, form_secret

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
    "name": f"Informe um nome de 1 a {hosted.NAME_MAX_CHARS} caracteres para a nova conta.",
    "account": "Escolha uma das contas.",
}

_BLANK = {"account": "", "name": "", "number": "", "phone": ""}  # what a form says that nobody has filled in


class Scene(NamedTuple):
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


def gone() -> Scene:
    """The one page for links that lead nowhere: used up, expired or unknown (fixed decision `link-after-use`)."""
    return Scene(410, "gone", "gone", {})


def refused(status: int) -> Scene:
    """The page for a request that is no step of a walk."""
    title, advice = _REFUSALS[status]
    headers = (("Allow", ", ".join(ALLOWED)),) if status == 405 else ()
    return Scene(status, "refused", "refused", {"title": title, "advice": advice}, headers=headers)


def sent_to(location: str, step: str) -> Scene:
    """The browser goes on with GET to there."""
    return Scene(303, "", step, {}, location)


def walk_path(asked: Asked, walk: Walk) -> str:
    return f"{asked.prefix}/connect/{WALK}{walk.secret}"


def at_link(sandbox: Sandbox, asked: Asked, found: Found) -> Scene:
    """The first page, as the good link shows it: nothing has begun yet."""
    steps = hosted.WALKS[found.session.coexistence]
    return _drawn(sandbox, asked, found, 200, steps[0], {"action": f"{asked.prefix}/connect/{asked.key}"})


def at_walk(
    sandbox: Sandbox,
    asked: Asked,
    found: Found,
    *,
    step: str = "",
    problem: str = "",
    given: Mapping[str, str] | None = None,
) -> Scene:
    """
    What the walk shows now: its step, or how it ended.

    With a `problem` it is that `step` again, with what was `given` and what is wrong about it.
    """
    assert found.walk is not None
    page = step if problem else hosted.page(sandbox, found.session, found.walk)
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
        example = phones.example(country)
        return f"O telefone informado não é válido. Informe o número com DDD, como {example}, ou com o código do país."
    return _PROBLEMS.get(field)


def _drawn(sandbox: Sandbox, asked: Asked, found: Found, status: int, page: str, facts: Mapping[str, Any]) -> Scene:
    tenant, session, walk = found
    steps = hosted.WALKS[session.coexistence]
    known = {
        "page": page,
        "given": _BLANK,
        "problem": "",
        "said": None,
        "secret": form_secret(sandbox, asked.key),
        "tenant": tenant.name,
        "dialled": phones.example(tenant.country) if page == "number" else "",
        "walk": walk,
        "numbers": hosted.free_numbers(sandbox, session) if page == "number" else (),
        "pairing": hosted.pairing_code(sandbox, session) if page == "app" else "",
        "coexistence": session.coexistence,
        "steps": steps[1:],
        "reached": steps.index(page) if page in steps else len(steps),
        "until": f"{to_datetime(session.expires_at):%H:%M}",
        "back": hosted.way_back(sandbox, session),
        "message": SESSION_MESSAGES.get("expired" if page == "expired" else session.reason or "", ("", ""))[0],
    }
    template = page if page in steps else "end"
    # Chromium holds the redirect after a form to form-action as well, so that the origin has to be named.
    goes_to = return_urls.source(session.return_url) if session.return_url is not None else ""
    return Scene(status, template, page, {**known, **facts}, goes_to=goes_to)
