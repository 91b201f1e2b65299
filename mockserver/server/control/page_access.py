"""The control plane as the dashboard uses it: the same commands and the same checks as for a client over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mockserver.core.redaction import Redactor
from mockserver.server.control import access, page_parts, routes
from mockserver.server.control.commands import AddressedHost
from mockserver.server.control.first_page import FirstPage, read_first_page
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.wire.request import SANDBOXES, HttpRequest


@dataclass(frozen=True)
class PageAccess:
    """
    The sandbox of one request for a page; `hosted` is None on a server without a default sandbox.

    Lifetime: that of the request.
    """

    host: SandboxHost
    hosted: HostedSandbox | None
    request: HttpRequest

    @property
    def sandbox_id(self) -> str | None:
        """The id of the sandbox of the page."""
        return self.hosted.id if self.hosted is not None else None

    @property
    def address(self) -> str:
        """The address of the sandbox, as the browser has it."""
        return self.request.base_url

    def key(self, tenant_id: str | None = None) -> str | None:
        """
        Return the secret key of a tenant, of the default one without an id.

        A server whose pages show no key has None, as has an unknown tenant.
        """
        if self.hosted is None or self.hosted.shown_key is None:
            return None
        tenant = self.hosted.sandbox.tenants.get(tenant_id) if tenant_id is not None else self.hosted.tenant
        return tenant.secret_key if tenant is not None else None

    def check(self) -> None:
        """Raise ControlError for a request that the control plane refuses."""
        access.check_page(self.host, self.hosted, self.request)

    def check_origin(self) -> None:
        """Raise ControlError for a foreign name or origin; the token is not required."""
        access.check_origin(self.host, self.request)

    def needs_token(self) -> bool:
        """Return True if the server requires a token."""
        return self.host.token is not None

    def redactor(self) -> Redactor:
        """Return what masks the secrets of the sandbox, or without one those of the server."""
        return Redactor(self.host.tokens() if self.hosted is None else self.hosted.sandbox.secrets())

    def cookie_for(self, token: str) -> tuple[str, str] | None:
        """Return the name and the value of the cookie for the server's token or the sandbox's; None for any other text."""
        found = access.find_token(self.host, self.hosted, token)
        return None if found is None else access.session_cookie(found)

    def cookie_names(self) -> list[str]:
        """Return the names of the cookies that open the pages: that of the server's token, and that of the sandbox's."""
        return access.cookie_names(self.host, self.hosted)

    def read(self, command: str, **arguments: str) -> Mapping[str, Any]:
        """
        Return the answer of a command that reads, as JSON values.

        Args:
            command: its id.
            arguments: its query and the parameters of its path.

        Raises:
            ControlError: the command is refused.
        """
        route = routes.COMMANDS[command]
        if route.target == "host":
            access.check_command(self.host, self.hosted, self.request, command, {}, is_page=True)
            routes.check_own_port(self.hosted, command)
            own = self.hosted.prefix if self.hosted is not None else ""
            of_shard = f"{SANDBOXES}{self.host.shard.name}" if self.host.shard is not None else ""
            origin = self.request.base_url.removesuffix(own).removesuffix(of_shard)
            addressed = AddressedHost(self.host, origin)
            answer: Mapping[str, Any] = route.handler(addressed, arguments)
            return answer
        result: Any = routes.run_command(self._own(), route.id, arguments)
        return {"text": result} if isinstance(result, str) else result

    @cached_property
    def history(self) -> Mapping[str, Any]:
        """The answer of `readHistory`, read once for the bar and the view of a page."""
        return self.read("readHistory")

    def first_page(self) -> FirstPage:
        """Return what the first page shows of the sandbox."""
        page: FirstPage = self._own().run_command(read_first_page, {}, phase="snapshot")
        return page

    def call(self, number: int) -> Mapping[str, Any] | None:
        """Return a call as the journal has it, with the `changes` that it has caused; None if the journal does not have it."""
        seen: Mapping[str, Any] | None = self._own().run_command(page_parts.read_call, {"n": number}, phase="snapshot")
        return seen

    def names(self, ids: Iterable[str]) -> Mapping[str, str]:
        """Return the names of the records with these ids, of those that have one."""
        named: Mapping[str, str] = self._own().run_command(page_parts.read_names, {"ids": [*ids]}, phase="snapshot")
        return named

    def _own(self) -> HostedSandbox:
        if self.hosted is None:
            raise ControlError("MOCK_NOT_FOUND", "this server has no default sandbox; open one of the list")
        return self.hosted
