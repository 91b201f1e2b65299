"""The arguments of a command in its request: the query, and the JSON body."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from mockserver.contract.text import brief, whole_number
from mockserver.core.operations.validation import parse_json
from mockserver.core.state.calls import ApiError
from mockserver.server.errors import ControlError
from mockserver.wire.request import HttpRequest

_REPEATABLE: Final = "label"


def query_of(request: HttpRequest) -> dict[str, str]:
    """Return the parameters of the query, labels joined by commas; ControlError for another one that is given twice."""
    query: dict[str, str] = {}
    for name, value in parse_qsl(request.target.partition("?")[2], keep_blank_values=True):
        if name in query and name != _REPEATABLE:
            raise ControlError("MOCK_BAD_QUERY", f"query: got {brief(name, 100)!r} twice; expected it once")
        query[name] = f"{query[name]},{value}" if name in query else value
    return query


_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


def json_body(request: HttpRequest) -> Any:
    """
    Return the JSON value of the body, {} for an empty one; `Content-Type` need not be JSON, since curl's default is a form's.

    Raises:
        ControlError: The body is too large, is not JSON, or has a key twice in one object.
    """
    if request.body is None:
        raise ControlError("MOCK_BODY_TOO_LARGE", "got a body that is larger than the mock reads")
    try:
        return parse_json(request.body, has_unique_keys=True) if request.body.strip() else {}
    except ApiError as refusal:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_form = content_type in _FORMS and not request.body.lstrip().startswith((b"{", b"["))
        reason = "got a form" if is_form else refusal.reason
        expected = "" if "; expected" in reason else "; expected a JSON object in UTF-8"
        raise ControlError("MOCK_BAD_JSON", f"body: {reason}{expected}") from None


def whole_numbers(args: Mapping[str, Any], names: Iterable[str]) -> dict[str, int]:
    """Return the whole numbers of a query, of those `names` that it has; ControlError for another text."""
    return {name: _whole(args[name], name) for name in names if name in args}


def _whole(value: object, name: str) -> int:
    number = whole_number(value) if isinstance(value, str) else None
    if number is None:
        raise ControlError(
            "MOCK_BAD_QUERY",
            f"{name}: got {reprlib.repr(value)}; expected a whole number from 0 to 999999999999999",
        )
    return number
