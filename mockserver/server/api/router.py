"""Routing: from a method and a raw path to an operation, by the contract's endpoint table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from mockserver.contract.endpoints import ENDPOINTS, Endpoint


class RouteMatch(NamedTuple):
    """What a path leads to: an operation with its parameters, or none and the methods that the path has."""

    endpoint: Endpoint | None
    params: Mapping[str, str]
    allow: tuple[str, ...]


class Node:
    """A place in the tree of paths: its literal branches, the branch that any id takes, and the operations that end here."""

    __slots__ = ("any", "literal", "methods")

    def __init__(self) -> None:
        self.literal: dict[str, Node] = {}
        self.any: Node | None = None
        self.methods: dict[str, tuple[Endpoint, tuple[tuple[int, str], ...]]] = {}  # with where its parameters stand

    def add(self, parts: Sequence[str], endpoint: Endpoint) -> None:
        if not parts:
            self.methods[endpoint.method] = (endpoint, _places(endpoint))
        elif parts[0].startswith("{"):
            self.any = self.any or Node()
            self.any.add(parts[1:], endpoint)
        else:
            self.literal.setdefault(parts[0], Node()).add(parts[1:], endpoint)

    def match(self, parts: Sequence[str]) -> list[Node]:
        """Where a path leads; what a literal branch leads to comes before what an id's does."""
        nodes = [self]
        for part in parts:
            below = []
            for node in nodes:
                branch = node.literal.get(part)
                if branch is not None:
                    below.append(branch)
                if part and node.any is not None:
                    below.append(node.any)
            nodes = below
        return nodes


@cache
def _tree() -> Node:
    root = Node()
    for endpoint in ENDPOINTS.values():
        root.add(endpoint.path.split("/"), endpoint)
    return root


def route(method: str, path: str) -> RouteMatch:
    """
    The operation of this method and raw path; ids are percent-decoded, one segment each.

    HEAD goes where GET goes. A trailing or doubled slash makes another path.
    """
    parts = path.split("/")
    wanted = "GET" if method == "HEAD" else method
    allow: list[str] = []
    for node in _tree().match(parts):
        found = node.methods.get(wanted)
        if found is not None:
            endpoint, places = found
            return RouteMatch(endpoint, {name: unquote(parts[place]) for place, name in places}, ())
        allow += [name for each in node.methods for name in (("GET", "HEAD") if each == "GET" else (each,))]
    return RouteMatch(None, {}, tuple(dict.fromkeys(allow)))


def _places(endpoint: Endpoint) -> tuple[tuple[int, str], ...]:
    """Where the parameters of an operation's path stand."""
    parts = endpoint.path.split("/")
    return tuple((place, part[1:-1]) for place, part in enumerate(parts) if part.startswith("{"))
