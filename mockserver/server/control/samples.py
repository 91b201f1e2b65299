"""The command that returns a small file of a media type, for clients that have no file for an upload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.media_types import KINDS
from mockserver.contract.samples import sample_file
from mockserver.contract.text import brief, closest_match_hint
from mockserver.server.api.response import HttpResponse
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox


def read_sample(hosted: HostedSandbox, args: Mapping[str, Any]) -> HttpResponse:
    """Return the file of the media type that `type` names."""
    media_type = args.get("type")
    if not isinstance(media_type, str) or media_type not in KINDS:
        received = "no type" if media_type is None else repr(brief(media_type, 100))
        hint = closest_match_hint(media_type, KINDS) if media_type else ""
        raise ControlError(400, "MOCK_BAD_QUERY", f"type: got {received}; expected one of {', '.join(KINDS)}{hint}")
    headers = (("Content-Type", media_type), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
    return HttpResponse(200, headers, sample_file(media_type))
