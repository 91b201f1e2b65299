"""The last page of a flow, in Portuguese: how the connection ended, what was connected and when, and what to do next."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from mockserver.core import phone_numbers
from mockserver.core.instants import MINUTE, Instant, to_datetime
from mockserver.core.operations import hosted_flow
from mockserver.core.operations.hosted_flow import FlowTarget
from mockserver.core.state.sandbox import SandboxState

_MONTHS = ("janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro")  # fmt: skip
_BRASILIA = timedelta(hours=-3)  # from UTC; fixed, so that the page does not depend on the machine's time zones
_NEW_LINK = "Peça um novo link a quem enviou este."


class Ending(NamedTuple):
    """
    An end as the page shows it.

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
        return Ending("good", "Número conectado", f"{tenant.name} já pode enviar e receber mensagens por este número.",
                      "", _connected(sandbox, target))  # fmt: skip
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
        return Ending("bad", "O prazo terminou", text, f"{_NEW_LINK} Ele valerá por 20 minutos.", facts)
    return Ending("bad", "Não foi possível conectar", *_failure(session.reason, flow.phone if flow else None))


def _connected(sandbox: SandboxState, target: FlowTarget) -> tuple[tuple[str, str], ...]:
    """Return the rows about the channel: of its entrypoint, which also a command of the control plane may have created."""
    tenant, session, _ = target
    entrypoint = tenant.entrypoints.get(session.entrypoint_id or "")
    ended_at = hosted_flow.ended_at(sandbox, session)
    rows = {
        "Número": phone_numbers.readable((entrypoint and entrypoint.display_phone) or ""),
        "Conta": entrypoint.name if entrypoint else "",
        "Modo": "Com o aplicativo do celular" if session.coexistence else "Somente na plataforma",
        "Quando": local_time(ended_at) if ended_at is not None else "",
    }
    return tuple((label, value) for label, value in rows.items() if value)


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
