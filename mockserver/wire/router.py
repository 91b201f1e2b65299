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


class _Route(NamedTuple, Generic[Target]):
    """A row of the table: the segments of its template, and what it leads to."""

    method: str
    segments: Sequence[str]
    target: Target

    def params(self, parts: Sequence[str]) -> dict[str, str] | None:
        """Return the parameters that the segments of a path have for the template; None if the path is another one."""
        params = {}
        for segment, part in zip(self.segments, parts, strict=True):
            if segment.startswith("{") and part:
                params[segment[1:-1]] = unquote(part)
            elif segment != part:
                return None
        return params


class Router(Generic[Target]):
    """
    Matches methods and raw paths against templates such as `/v1/campaigns/{id}`.

    A parameter is one segment that is not empty. A trailing or doubled slash makes another path.
    """

    def __init__(self, routes: Iterable[tuple[str, str, Target]], *, has_head: bool) -> None:
        """
        Order the templates: of two that a path fits, the one with the first literal segment is its own.

        Args:
            routes: method, template and row.
            has_head: HEAD matches the rows of GET.
        """
        self._has_head = has_head
        self._routes: dict[int, list[_Route[Target]]] = {}  # by the number of segments
        for method, template, target in routes:
            segments = template.split("/")
            self._routes.setdefault(len(segments), []).append(_Route(method, segments, target))
        for rows in self._routes.values():
            rows.sort(key=lambda row: [segment.startswith("{") for segment in row.segments])

    def match(self, method: str, path: str) -> RouteMatch[Target]:
        """Return the row of this method and raw path, or the methods that the path has."""
        route_method = "GET" if method == "HEAD" and self._has_head else method
        parts = path.split("/")
        allow: list[str] = []
        for row in self._routes.get(len(parts), ()):
            params = row.params(parts)
            if params is None:
                continue
            if row.method == route_method:
                return RouteMatch(row.target, params, ())
            allow += ("GET", "HEAD") if row.method == "GET" and self._has_head else (row.method,)
        return RouteMatch(None, {}, tuple(dict.fromkeys(allow)))


@cache
def _api() -> Router[Endpoint]:
    return Router(((endpoint.method, endpoint.path, endpoint) for endpoint in ENDPOINTS.values()), has_head=True)


def route(method: str, path: str) -> RouteMatch[Endpoint]:
    """Return the operation of this method and raw path; HEAD has the operation of GET."""
    return _api().match(method, path)
