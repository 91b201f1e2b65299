"""What a request for an answer asks for: the media type by its header Accept, and its query."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from mockserver.contract.text import closest_match_hint
from mockserver.server.api.request import HttpRequest
from mockserver.server.errors import ControlError

JSON_TYPES: Final = ("application/json", "application/openapi+json", "application/vnd.oai.openapi+json")
YAML_TYPES: Final = ("application/yaml", "application/openapi+yaml", "application/vnd.oai.openapi", "text/yaml")
TEXT_TYPES: Final = ("text/plain",)
_REPEATABLE: Final = "label"
REPORT_TYPES: Final = ("text/plain", "application/json")  # two forms of one answer; the others are names of one form


def accepted_type(accept: str, media_types: tuple[str, ...]) -> str | None:
    """
    Return the media type of the answer that a client prefers; None if the answer is not negotiated.

    Args:
        accept: the header's value; an empty one accepts everything.
        media_types: those of the answer, the default first; none if it is not negotiated.

    Returns:
        One of several types of an answer; of several names of one type the first.

    Raises:
        ControlError: It accepts none of them; the message has the nearest one.
    """
    if not media_types:
        return None
    if not accept.strip():
        return media_types[0]
    from werkzeug.datastructures import MIMEAccept
    from werkzeug.http import parse_accept_header

    forms = {form: media_type for media_type in media_types for form in (media_type, f"{media_type};charset=utf-8")}
    accepted = parse_accept_header(accept.replace("q=.", "q=0."), MIMEAccept)  # as Java's HttpURLConnection writes it
    best = forms.get(accepted.best_match(forms) or "")
    if best is None:
        expected = " or ".join(media_types if media_types is REPORT_TYPES else media_types[:1])
        hint = closest_match_hint(accept.partition(";")[0].strip(), media_types)
        raise ControlError(406, "MOCK_NOT_ACCEPTABLE", f"Accept: got {accept[:100]!r}; expected {expected}{hint}")
    return best if media_types is REPORT_TYPES else media_types[0]


def query_of(request: HttpRequest) -> dict[str, str]:
    """Return the parameters of the query, labels joined by commas; ControlError for another one that is given twice."""
    query: dict[str, str] = {}
    for name, value in parse_qsl(request.target.partition("?")[2], keep_blank_values=True):
        if name in query and name != _REPEATABLE:
            raise ControlError(400, "MOCK_BAD_QUERY", f"got {name[:100]!r} twice; expected it once")
        query[name] = f"{query[name]},{value}" if name in query else value
    return query
