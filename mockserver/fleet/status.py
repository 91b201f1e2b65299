"""The sandboxes and the metrics of a fleet, read from each shard and merged with the shard named."""

from __future__ import annotations

import re
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import Any, Final, NamedTuple

from mockserver.contract.text import json_value
from mockserver.fleet.rules import RETRY_AFTER_S, Address, shard_name

_TIMEOUT_SECONDS: Final = 10.0
_SAMPLE: Final = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")

Get = Callable[[str, str], tuple[int, str]]


class ShardStatus(NamedTuple):
    """
    The state of one shard.

    Attributes:
        name: of the shard.
        sandboxes: as `GET /_mock/sandboxes` returns them; None if the shard does not answer.
        closed: the closed ones that were called too late.
        metrics: in the text format of Prometheus.
    """

    name: str
    sandboxes: list[dict[str, Any]] | None
    closed: list[dict[str, Any]]
    metrics: str

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON."""
        own = {"shard": self.name, "answers": self.sandboxes is not None}
        return {**own, "sandboxes": self.sandboxes or [], "closed": self.closed}


def reader(address: Address, token: str | None) -> Get:
    """Return a function that reads a path as JSON or text from a server, and returns the status and the body."""

    def get(path: str, accept: str) -> tuple[int, str]:
        connection = HTTPConnection(*address, timeout=_TIMEOUT_SECONDS)
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            connection.request("GET", path, headers={"Host": "localhost", "Accept": accept, **bearer})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except HTTPException as failure:
            raise ConnectionError(f"{type(failure).__name__}: {failure}") from None
        finally:
            connection.close()

    return get


def read_status(get: Get) -> list[ShardStatus]:
    """
    Return the state of each shard.

    Args:
        get: reads a path of the fleet.

    Raises:
        ValueError: The server is not a fleet, or refuses the token.
        OSError: It does not answer.
    """
    status, text = get("/_mock/health", "application/json")
    health = json_value(text) if status == 200 else {}
    if not isinstance(health, dict) or "shards" not in health:
        got = f"status {status}" if status != 200 else "a server without shards"
        hint = "; its token is --token" if status == 401 else ""
        raise ValueError(f"got {got}; expected a fleet, as `mockserver fleet` starts it{hint}")
    return [_read_shard(get, shard_name(number)) for number in range(health["shards"])]


def _read_shard(get: Get, name: str) -> ShardStatus:
    try:
        status, listed = get(f"/sandboxes/{name}/_mock/sandboxes", "application/json")
        _, metrics = get(f"/sandboxes/{name}/_mock/metrics", "text/plain")
        view = json_value(listed) if status == 200 else None
    except OSError:
        view, metrics = None, ""
    if not isinstance(view, dict):
        return ShardStatus(name, None, [], "")
    return ShardStatus(name, view["sandboxes"], view["closed"], metrics)


def as_table(shards: list[ShardStatus]) -> str:
    """Return one line per shard, and one per sandbox."""
    lines: list[str] = []
    for shard in shards:
        if shard.sandboxes is None:
            lines.append(f"{shard.name}  does not answer; if it is being restarted, try again in {RETRY_AFTER_S} s")
            continue
        memory = sum(row["memoryBytes"] for row in shard.sandboxes) / 1_000_000
        lines.append(f"{shard.name}  {len(shard.sandboxes)} sandboxes  {memory:.1f} MB")
        for row in shard.sandboxes:
            labels = ",".join(f"{key}:{value}" for key, value in row["labels"].items())
            line = f"  {row['sandboxId']}  {row['exchanges']} calls  idle {row['idleSeconds']} s  {labels}"
            lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def merged_metrics(shards: list[ShardStatus]) -> str:
    """Return the samples of all shards in the text format of Prometheus, each with the label `shard`."""
    families: dict[str, list[str]] = {}
    family: list[str] = []
    for shard in shards:
        for line in shard.metrics.splitlines():
            if line.startswith("#"):
                family = families.setdefault(line.split()[2], [])
                if line not in family:
                    family.append(line)
            elif match := _SAMPLE.fullmatch(line):
                labels = ",".join(filter(None, (f'shard="{shard.name}"', match[2])))
                family.append(f"{match[1]}{{{labels}}} {match[3]}")
    return "".join(f"{line}\n" for lines in families.values() for line in lines)
