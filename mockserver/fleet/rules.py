"""
The routing of a fleet, from which the configuration of every proxy is rendered.

1. The id of a sandbox begins with its shard, so that a prefix of the path, or of the host name, names the process.
2. Creations are distributed in turn. What names no shard is for shard 0, whose default sandbox is that of the fleet.
3. A proxy sends each request at most once. A creation that no process has received may be sent to another one.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Final, NamedTuple

DEFAULT_SHARD: Final = 0
CREATION: Final = ("POST", "/_mock/sandboxes")
# Prefixes of the path of a request for one shard. Each ends behind the number: `sandbox_1_` is not the start of `sandbox_12_`.
PATHS: Final = ("/sandboxes/sandbox_{shard}_", "/_mock/sandboxes/sandbox_{shard}_", "/sandboxes/shard_{shard}/")
# Prefix of the host name of a client that can set nothing else; the name's first part is the id of the sandbox.
HOST: Final = "sandbox_{shard}_"

DOWN_STATUS: Final = 503
RETRY_AFTER_S: Final = 1
_LOOPBACK_OF: Final = MappingProxyType({"0.0.0.0": "127.0.0.1", "::": "::1"})


class Address(NamedTuple):
    """The address at which a process listens."""

    host: str
    port: int

    @property
    def reachable(self) -> Address:
        """The address by which a client on this machine reaches it, also if it listens on every address."""
        return self._replace(host=_LOOPBACK_OF.get(self.host, self.host))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ShardRoute(NamedTuple):
    """
    The rules of one shard.

    Attributes:
        number: of the shard.
        name: of the shard, in configurations and logs.
        address: of its process.
        paths: prefixes of the paths that it owns.
        host: prefix of the host names that it owns.
    """

    number: int
    name: str
    address: Address
    paths: tuple[str, ...]
    host: str


class Routing(NamedTuple):
    """
    The rules of a fleet.

    Attributes:
        listen: the address of the proxy.
        routes: one per shard.
    """

    listen: Address
    routes: tuple[ShardRoute, ...]

    @property
    def default(self) -> ShardRoute:
        """The shard of every request that names none."""
        return self.routes[DEFAULT_SHARD]


def routing(listen: Address, shards: tuple[Address, ...]) -> Routing:
    """Return the rules of shards at these addresses, by their numbers."""
    routes = (
        ShardRoute(
            number,
            shard_name(number),
            address,
            paths=tuple(path.format(shard=number) for path in PATHS),
            host=HOST.format(shard=number),
        )
        for number, address in enumerate(shards)
    )
    return Routing(listen, tuple(routes))


def shard_name(number: int) -> str:
    """Return the name of a shard, which is also the segment of a path that addresses it."""
    return f"shard_{number}"


def down_body() -> str:
    """Return the response body of a request whose process does not run."""
    message = "the process that owns this sandbox does not run; a fleet restarts it: try again"
    return json.dumps({"statusCode": DOWN_STATUS, "code": "MOCK_SHARD_DOWN", "message": message})
