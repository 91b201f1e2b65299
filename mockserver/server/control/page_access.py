"""The control plane as the dashboard uses it: the same commands and the same checks as for a client over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from mockserver.core.redaction import Redactor
from mockserver.server.control import access, routes
from mockserver.server.control.commands import AddressedHost
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox, HostedSnapshot, SandboxHost
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
    def base(self) -> str:
        """The prefix of the sandbox, with the place where the server is mounted."""
        return urlsplit(self.request.base_url).path

    @property
    def path(self) -> str:
        """The path of the request, below the prefix of the sandbox."""
        return self.request.target.partition("?")[0]

    def key(self, tenant_id: str | None = None) -> str | None:
        """
        Return the secret key of a tenant, of the default one without an id.

        A server whose pages show no key has None, as has an unknown tenant.
        """
        if self.hosted is None or self.hosted.shown_key is None:
            return None
        tenant = self.hosted.sandbox.tenants.get(tenant_id) if tenant_id is not None else self.hosted.tenant
        return tenant.secret_key if tenant is not None else None

    def redactor(self) -> Redactor:
        """Return what masks the secrets of the sandbox, or without one those of the server."""
        return Redactor(self.host.tokens() if self.hosted is None else self.hosted.sandbox.secrets())

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

    def snapshot(self) -> HostedSnapshot:
        """Return the sandbox with a copy of its state, for what no command answers."""
        taken: HostedSnapshot = self._own().run_command(lambda snapshot, arguments: snapshot, {}, phase="snapshot")
        return taken

    def _own(self) -> HostedSandbox:
        if self.hosted is None:
            raise ControlError("MOCK_NOT_FOUND", "this server has no default sandbox; open one of the list")
        return self.hosted
