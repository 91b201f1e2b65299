"""Router: from a method and a raw path to a row of a table of path templates, for the API and the control plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import unquote

from mockserver.contract.endpoints import ENDPOINTS, Endpoint

Target = TypeVar("Target")


class RouteMatch(NamedTuple, Generic[Target]):
    """
    The result of a match.

    Attributes:
        target: the row of the table; None if no row has this method and path.
        params: the path parameters by name, percent-decoded.
        allow: the methods of the path if it has rows and none has this method, else empty.
    """

    target: Target | None
    params: Mapping[str, str]
    allow: tuple[str, ...]


class _Node(Generic[Target]):
    """A segment in the tree of paths: its literal branches, the branch of a parameter, and the routes that end here."""

    __slots__ = ("literal", "parameter", "routes")

    def __init__(self) -> None:
        self.literal: dict[str, _Node[Target]] = {}
        self.parameter: _Node[Target] | None = None
        self.routes: dict[str, tuple[Target, tuple[tuple[int, str], ...]]] = {}  # with the places of the parameters

    def add(self, parts: Sequence[str]) -> _Node[Target]:
        if not parts:
            return self
        if parts[0].startswith("{"):
            self.parameter = self.parameter or _Node()
            return self.parameter.add(parts[1:])
        return self.literal.setdefault(parts[0], _Node()).add(parts[1:])

    def match(self, parts: Sequence[str]) -> list[_Node[Target]]:
        """Return the nodes of a path, those below a literal branch before those below a parameter."""
        nodes = [self]
        for part in parts:
            below = []
            for node in nodes:
                branch = node.literal.get(part)
                if branch is not None:
                    below.append(branch)
                if part and node.parameter is not None:
                    below.append(node.parameter)
            nodes = below
        return nodes


class Router(Generic[Target]):
    """
    Matches methods and raw paths against templates such as `/v1/campaigns/{id}`.

    A parameter is one segment that is not empty. A trailing or doubled slash makes another path.
    """

    def __init__(self, routes: Iterable[tuple[str, str, Target]], *, has_head: bool) -> None:
        """
        Build the tree of paths.

        Args:
            routes: method, template and row.
            has_head: HEAD matches the rows of GET.
        """
        self._root: _Node[Target] = _Node()
        self._exact: dict[tuple[str, str], RouteMatch[Target]] = {}  # of templates without a parameter
        self._has_head = has_head
        for method, template, target in routes:
            parts = template.split("/")
            places = tuple((place, part[1:-1]) for place, part in enumerate(parts) if part.startswith("{"))
            self._root.add(parts).routes[method] = (target, places)
            if not places:
                self._exact[method, template] = RouteMatch(target, {}, ())

    def match(self, method: str, path: str) -> RouteMatch[Target]:
        """Return the row of this method and raw path, or the methods that the path has."""
        route_method = "GET" if method == "HEAD" and self._has_head else method
        exact = self._exact.get((route_method, path))
        if exact is not None:
            return exact
        parts = path.split("/")
        allow: list[str] = []
        for node in self._root.match(parts):
            route = node.routes.get(route_method)
            if route is not None:
                target, places = route
                return RouteMatch(target, {name: unquote(parts[place]) for place, name in places}, ())
            for name in node.routes:
                allow += ("GET", "HEAD") if name == "GET" and self._has_head else (name,)
        return RouteMatch(None, {}, tuple(dict.fromkeys(allow)))


@cache
def _api() -> Router[Endpoint]:
    return Router(((endpoint.method, endpoint.path, endpoint) for endpoint in ENDPOINTS.values()), has_head=True)


def route(method: str, path: str) -> RouteMatch[Endpoint]:
    """Return the operation of this method and raw path; HEAD has the operation of GET."""
    return _api().match(method, path)
