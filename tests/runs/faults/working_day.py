"""
Ordinary tests of clients: each is a happy path, as a team writes it, and takes the client's class.

`working_day` is all those of a CRM in one run, of some forty-five calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from mockserver import Sandbox
from tests.clients import planted, planted_pairs, planted_receivers
from tests.clients.careful import FINAL
from tests.clients.planted import Crm, NameTaken
from tests.clients.receiving import CarefulReceiver

Client = TypeVar("Client", bound=Crm)
Test = Callable[[Sandbox], None]

SINCE = "2020-01-01T00:00:00Z"
LATER = "2021-01-01T00:00:00Z"
GIVEN: Mapping[str, Any] = MappingProxyType(
    {
        "templates": [
            {
                "id": "template_asking",
                "name": "Pesquisa",
                "variables": [
                    {"key": "var1", "source": "chat.name"},
                    {"key": "var2", "label": "Loja", "required": True},
                ],
                "items": [{"type": "text", "text": "Oi {{1}}, aqui é a {{2}}"}],
            }
        ],
        "chats": [
            *({"id": f"chat_{number}", "status": "open", "platform": "chatapp"} for number in range(6)),
            {"id": "chat_photo", "status": "open", "platform": "photoapp"},
        ],
        "campaigns": [{"id": "campaign_taken", "name": "Páscoa", "templateId": "template_asking", "cadence": 7}],
        "messages": [{"chatId": "chat_0", "text": f"Mensagem {number}"} for number in range(5)],
    }
)


class Connecting(Crm):
    """The careful client, which creates sessions for a receiver to await."""

    def created_session(self) -> str:
        return str(self._created({})["sessionId"])


def _client(sandbox: Sandbox, client: type[Client]) -> Client:
    sandbox.apply(given=dict(GIVEN))
    return client(sandbox.base_url, sandbox.secret_key, sandbox.requests_session(), sandbox.sleep)


def _launch(crm: Crm, per_minute: int = 2) -> None:
    outcome = crm.follow(*crm.launch_since("Natal", per_minute, SINCE))
    assert outcome.is_final


def _cancel(crm: Crm) -> None:
    campaign, execution = crm.launch_since("Carnaval", 1, LATER)
    assert crm.cancel(campaign) in FINAL
    assert crm.settled(campaign, execution).sent <= len(GIVEN["chats"])


def _taken_name(crm: Crm) -> None:
    try:
        crm.launch_since("Páscoa", 60, SINCE)
    except NameTaken:
        return
    raise AssertionError("a taken name was accepted")


def _history(crm: Crm) -> None:
    assert len(list(crm.messages("chat_0", limit=2))) >= len(GIVEN["messages"])


def _connect(crm: Crm) -> None:
    ended = crm.connect(lambda _: None, lambda _: True)
    assert ended.status == "completed" or ended.entrypoint is None


def launching(sandbox: Sandbox, client: type[Crm] = Crm) -> None:
    """Create and start a campaign, and follow it to its end."""
    _launch(_client(sandbox, client))


def bursting(sandbox: Sandbox, client: type[Crm] = Crm) -> None:
    """Send as fast as a message per second, and follow the campaign to its end."""
    _launch(_client(sandbox, client), 60)


def canceling(sandbox: Sandbox, client: type[Crm] = Crm) -> None:
    """Start a campaign, cancel it, and read what was sent."""
    _cancel(_client(sandbox, client))


def naming(sandbox: Sandbox, client: type[Crm] = Crm) -> None:
    """Launch under a name that is taken."""
    _taken_name(_client(sandbox, client))


def reading(sandbox: Sandbox, client: type[Crm] = Crm) -> None:
    """Read all messages of a chat, page by page."""
    _history(_client(sandbox, client))


def connecting(sandbox: Sandbox, client: type[Crm] = Crm) -> None:
    """Connect a number: the end user finishes while the client polls."""
    sandbox.on("readConnectionSession").nth(2).complete_session()
    _connect(_client(sandbox, client))


def working_day(sandbox: Sandbox, client: type[Crm] = Crm) -> None:
    """Launch, follow, cancel, connect and read, in one run."""
    sandbox.on("readConnectionSession").nth(2).complete_session()
    crm = _client(sandbox, client)
    _launch(crm, 1)
    for part in (_cancel, _taken_name, _history, _connect):
        part(crm)


def receiving(sandbox: Sandbox, receiver: type[CarefulReceiver] = CarefulReceiver) -> None:
    """Connect a number at the second attempt, and receive both events."""
    crm, inbox = _client(sandbox, Connecting), receiver([], sandbox.tenant_id)
    inbox.secrets.append(sandbox.receive_webhooks(inbox).secret)
    for end in (sandbox.fail_session, sandbox.complete_session):
        session = crm.created_session()
        inbox.keep(session)
        end(session)
        sandbox.advance("1m")
        inbox.work()
    sandbox.advance("2h")
    inbox.work()
    assert inbox.number is not None or not inbox.welcomed
    assert len(inbox.welcomed) == len(set(inbox.welcomed))


# The ordinary test of each seeded bug: one that a team has in any case, and that passes.
ORDINARY: Mapping[str, Any] = MappingProxyType(
    {
        **dict.fromkeys(planted.BUGS, launching),
        **dict.fromkeys(("cancel-and-forget", "json-on-204"), canceling),
        **dict.fromkeys(("message-matched", "status-matched", "retry-hopeless"), naming),
        **dict.fromkeys(("cadence-unit", "poll-too-fast"), bursting),
        "page-early-stop": reading,
        "session-storm": connecting,
        **dict.fromkeys(planted_receivers.BUGS, receiving),
        **dict.fromkeys(planted_pairs.BUGS, launching),
        "cancel-tried-twice": canceling,
    }
)
BUGS: Mapping[str, Any] = MappingProxyType({**planted.BUGS, **planted_receivers.BUGS, **planted_pairs.BUGS})


def ordinary_test(bug: str) -> Test:
    """Return the ordinary test of a client or receiver with this bug, as a function of a sandbox."""
    test, planter = ORDINARY[bug], BUGS[bug]
    return lambda sandbox: test(sandbox, planter)
