"""The media types of answers that are texts, and the check of the header Accept."""

from __future__ import annotations

from typing import Final

from mockserver.contract.text import closest_match_hint
from mockserver.server.errors import ControlError

JSON_TYPES: Final = ("application/json", "application/openapi+json", "application/vnd.oai.openapi+json")
YAML_TYPES: Final = ("application/yaml", "application/openapi+yaml", "application/vnd.oai.openapi", "text/yaml")


def check_accept(accept: str, media_types: tuple[str, ...]) -> None:
    """
    Check that a client accepts the first of these media types, under that name or another one of them.

    Args:
        accept: the header's value; an empty one accepts everything.
        media_types: the names of one type; none if the answer is not negotiated.

    Raises:
        ControlError: It accepts none of them; the message has the nearest one.
    """
    if not media_types or not accept.strip():
        return
    from werkzeug.datastructures import MIMEAccept
    from werkzeug.http import parse_accept_header

    if parse_accept_header(accept, MIMEAccept).best_match(media_types) is None:
        hint = closest_match_hint(accept.partition(";")[0].strip(), media_types)
        message = f"Accept: got {accept[:100]!r}; expected {media_types[0]}{hint}"
        raise ControlError(406, "MOCK_NOT_ACCEPTABLE", message)
