"""A command of the control plane: its id, and everything that its row in the table of `routes` says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple

from mockserver.server.errors import STATUSES
from mockserver.server.hosting.host import HostedSandbox, Phase, SandboxHost

# fmt: off
CommandId = Literal[
    "readHealth", "createSandbox", "listSandboxes", "deleteSandboxes", "deleteSandbox", "reset",
    "readClock", "setClock", "advanceClock",
    "readChoices", "choose", "readTrackedChoices", "trackChoices", "listScenarios", "readScenario", "applyScenario",
    "listRules", "addRules", "removeRules", "removeRule", "readTenant", "setTenant",
    "readState", "createCheckpoint", "restoreCheckpoint",
    "readJournal", "verifyJournal", "readHistory", "readReplay", "readHar", "readReport", "keepReport", "readLedger",
    "readConduct", "readCheck", "readCoverage",
    "completeSession", "failSession", "cancelSession", "expireSession", "failCampaign",
    "readEvents", "readEvent", "redeliverEvent", "createWebhook", "recoverWebhook", "rotateWebhook",
    "readOpenapi", "readMetrics", "readSample", "sendCall",
]
# fmt: on

_COMMON: Final = (
    "MOCK_TOKEN_WANTED",
    "MOCK_FOREIGN_HOST",
    "MOCK_FOREIGN_ORIGIN",
    "MOCK_BAD_QUERY",
    "MOCK_BAD_BODY",
    "MOCK_NOT_FOUND",
    "MOCK_SANDBOX_CLOSED",
    "MOCK_INTERNAL_ERROR",
)
_OF_BODIES: Final = ("MOCK_BAD_JSON", "MOCK_BODY_TOO_LARGE")


@dataclass(frozen=True, slots=True)
class Route:
    """
    One command of the control plane.

    Attributes:
        call: the method and the path.
        function: the module of this package and the function in it that runs the command; loaded when it first runs, since
            some of them are slow to import.
        target: the first argument of the function: the `host` with its address for the caller, or the `sandbox` of the prefix.
        phase: when the function of a sandbox runs.
        recorded: the name under which the history and replay documents have the command; None for one that changes
            nothing, or that restores the history together with the state.
        status: of an answer that is no refusal.
        has_body: the schema `control.ID` validates its body; without one the command takes none.
        query: the names of its parameters.
        takes_address: the function also takes the `base_url` of the sandbox, as the client has written it.
        form: of the answer: `json`, plain `text`, or a `report`, which is JSON for a client whose Accept names it, else its text.
        refusals: the codes of its own. MOCK_LOOP_BLOCKED is none: only a call in process can block a receiver's event loop.
    """

    id: CommandId
    call: str
    function: str
    summary: str
    _: KW_ONLY
    target: Literal["host", "sandbox"] = "sandbox"
    phase: Phase = "locked"
    recorded: str | None = None
    status: int = 200
    has_body: bool = False
    query: tuple[str, ...] = ()
    takes_address: bool = False
    form: Literal["json", "text", "report"] = "json"
    refusals: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The method of the call."""
        return self.call.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path of the call, with names in braces."""
        return self.call.partition(" ")[2]

    @property
    def schema(self) -> str | None:
        """The name of the schema of the body; None without one."""
        return f"control.{self.id}" if self.has_body else None

    @property
    def query_names(self) -> tuple[str, ...]:
        """The parameters that its query may have; a command that waits for deliveries also has `wait`."""
        return (*self.query, "wait") if self.phase == "delivered" else self.query

    @property
    def handler(self) -> Callable[..., Any]:
        """The function that runs the command."""
        module, name = self.function.rsplit(".", 1)
        function: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), name)
        return function

    def codes_by_status(self) -> dict[int, list[str]]:
        """Return the codes with which the command can be refused, by status."""
        codes = [
            code for code in _COMMON if code != "MOCK_BAD_QUERY" or self.id != "readHealth"
        ]  # probes add parameters
        if self.method != "GET":  # a browser needs a header
            codes.append("MOCK_HEADER_WANTED")
        if self.has_body:
            codes += _OF_BODIES
        if self.target == "host" and self.id != "readHealth":  # refused at a port that only one sandbox has
            codes.append("MOCK_OWN_PORT")
        by_status: dict[int, list[str]] = {}
        for code in (*codes, *self.refusals):
            by_status.setdefault(STATUSES[code], []).append(code)
        return dict(sorted(by_status.items()))


class AddressedHost(NamedTuple):
    """The host, with the server's address as the caller of a command has written it."""

    host: SandboxHost
    origin: str

    def base_url(self, hosted: HostedSandbox) -> str:
        """Return the address of a sandbox for this caller."""
        return hosted.own_origin or self.origin + hosted.prefix
