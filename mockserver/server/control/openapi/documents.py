"""
The OpenAPI documents as JSON: of the public API as a sandbox or a profile has it, and of the control plane.

The same choices give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from mockserver._json import JSON
from mockserver.contract.choices import DEFAULTS
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.limits import PAGE_LIMIT_MAX
from mockserver.contract.media_types import KINDS
from mockserver.contract.openapi import skeleton
from mockserver.contract.openapi.components import public_components
from mockserver.contract.openapi.document import public_document
from mockserver.contract.openapi.older import VERSIONS, as_3_0
from mockserver.contract.text import closest_match_hint
from mockserver.core.state.calls import ApiError
from mockserver.server.control.openapi.control import PLANES, control_document
from mockserver.server.control.routes import ROUTES
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire.formats import error_body

Plane = Literal["public", "control"]
Arguments = Mapping[str, Any]


def document(plane: Plane, choices: Mapping[str, object], base_url: str) -> JSON:
    """
    Return the OpenAPI document of a plane.

    Args:
        plane: the public API, or the control plane.
        choices: every choice with its option; the public document describes the API under them.
        base_url: the address of the sandbox.
    """
    choices = json.loads(json.dumps(dict(choices), sort_keys=True))  # in one order: equal choices give equal bytes
    whole = skeleton.read("api" if plane == "public" else "control")
    shown = whole["examples"]
    schemas = (whole if plane == "public" else skeleton.read("api")).pop("schemas")
    components = public_components(schemas, choices)
    if plane == "control":
        return control_document(whole, components, ROUTES, choices, base_url)
    shown["refusals"] = {
        operation: {
            code: error_body(choices, ApiError(code, clause="", **facts), ENDPOINTS[operation])[1]
            for code, facts in refusals.items()
        }
        for operation, refusals in shown["refusals"].items()
    }
    texts = whole["texts"] | {"webhookId": whole["texts"]["webhookId"][choices["wh-idempotency"]]}
    rows = {"baseUrl": base_url, "pageLimitMax": PAGE_LIMIT_MAX, "uploadTypes": ", ".join(KINDS)}
    return public_document(skeleton.filled(whole, {**choices, **texts, **rows}), components, choices, base_url)


def text(document: JSON, version: str = VERSIONS[0]) -> str:
    """Return a document in a version of OpenAPI as JSON, with a newline at its end."""
    whole = as_3_0(document) if version == "3.0" else document
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def read_document(hosted: HostedSandbox, args: Arguments, base_url: str) -> str:
    """Return a document as JSON."""
    return text(_asked(hosted, args, base_url), _version(args))


def _asked(hosted: HostedSandbox, args: Arguments, base_url: str) -> JSON:
    """Return the document of a `plane`, public by default; without a `profile` the sandbox's choices are in force."""
    if "profile" in args:
        profile = PROFILES[_known("profile", args["profile"], tuple(PROFILES))]
        return document(_plane(args), {**DEFAULTS, **profile}, base_url)
    with hosted.sandbox.lock:
        choices = dict(hosted.sandbox.choices)  # a copy: a document does not count as a use of a choice
    return document(_plane(args), choices, base_url)


def _plane(args: Arguments) -> Plane:
    """Return the plane that is asked for."""
    return "control" if _known("plane", args.get("plane", "public"), PLANES) == "control" else "public"


def _version(args: Arguments) -> str:
    return _known("openapi", args.get("openapi", VERSIONS[0]), VERSIONS)


def _known(name: str, received: str, values: tuple[str, ...]) -> str:
    if received not in values:
        hint = closest_match_hint(received, values)
        raise ControlError(
            f"MOCK_BAD_{name.upper()}", f"{name}: got {received[:100]!r}; expected {', '.join(values)}{hint}"
        )
    return received
