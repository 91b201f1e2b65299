"""Commands that return the OpenAPI documents, as text and as a page: of the public API as this sandbox or a profile has it, and of the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.text import closest_match_hint
from mockserver.server.control.openapi import documents
from mockserver.server.control.openapi.control import PLANES, Command
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox


def read_document(
    hosted: HostedSandbox,
    args: Mapping[str, Any],
    base_url: str,
    commands: tuple[Command, ...],
    form: documents.Format,
) -> bytes:
    """
    Return a document as UTF-8.

    Args:
        hosted: the sandbox; without a profile its choices are in force.
        args: `plane`, public by default, and `profile`.
        base_url: the address of the sandbox, for the caller.
        commands: the table of the control plane.
        form: of the text.
    """
    plane, choices = _plane_and_choices(hosted, args)
    return documents.text(plane, choices, base_url, commands, form)


def read_page(hosted: HostedSandbox, args: Mapping[str, Any], base_url: str, commands: tuple[Command, ...]) -> bytes:
    """Return a document as a page; the arguments are those of `read_document`."""
    plane, choices = _plane_and_choices(hosted, args)
    return documents.page(plane, choices, base_url, commands, f"?{urlencode(args)}" if args else "")


def _plane_and_choices(hosted: HostedSandbox, args: Mapping[str, Any]) -> tuple[documents.Plane, Mapping[str, object]]:
    plane = _known("plane", args.get("plane", "public"), PLANES)
    if "profile" in args:
        choices: Mapping[str, object] = {**DEFAULTS, **PROFILES[_known("profile", args["profile"], tuple(PROFILES))]}
    else:
        with hosted.sandbox.lock:
            choices = dict(hosted.sandbox.choices)  # a copy: a document does not count as a use of a choice
    return "control" if plane == "control" else "public", choices


def _known(name: str, received: str, values: tuple[str, ...]) -> str:
    if received not in values:
        hint = closest_match_hint(received, values)
        raise ControlError(
            400, f"MOCK_BAD_{name.upper()}", f"{name}: got {received[:100]!r}; expected {', '.join(values)}{hint}"
        )
    return received
