"""
The OpenAPI documents as JSON, YAML and HTML: of the public API as a sandbox or a profile has it, and of the control plane.

The same choices give the same bytes.

A text is made once for the choices that it describes, and the address of each client is put in afterwards.
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import urlencode

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
from mockserver.server.control.commands import Route
from mockserver.server.control.openapi.control import PLANES, control_document
from mockserver.server.dashboard.paths import VIEWS
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire.formats import error_body
from mockserver.wire.request import SANDBOXES

Plane = Literal["public", "control"]
Form = Literal["json", "yaml", "html"]

# In place of what is known only when a text is asked for: the address, and what a page shows of its sandbox.
_ORIGIN: Final = "http://address.mockserver.test"
_ADDRESS: Final = f"{_ORIGIN}{SANDBOXES}own"
_ID: Final = "id.mockserver.test"
_KEY: Final = "key.mockserver.test"
_NAMES: Final = re.compile("|".join(map(re.escape, (_ADDRESS, _ORIGIN, _ID, _KEY))))
# An address as each form has it.
_ENCODED: Final[Mapping[Form, Callable[[str], str]]] = MappingProxyType(
    {"json": lambda url: json.dumps(url)[1:-1], "yaml": str, "html": lambda url: html.escape(json.dumps(url)[1:-1])}
)
_CACHED: Final = 32  # a document takes 10 ms to make, as YAML half a second


def document(plane: Plane, choices: Mapping[str, object], base_url: str, commands: tuple[Route, ...]) -> JSON:
    """
    Return the OpenAPI document of a plane.

    Args:
        plane: the public API, or the control plane.
        choices: every choice with its option; the public document describes the API under them.
        base_url: the address of the sandbox.
        commands: the table of the control plane.
    """
    whole = skeleton.read("api" if plane == "public" else "control")
    shown = skeleton.examples(whole, choices)
    schemas = (whole if plane == "public" else skeleton.read("api")).pop("schemas")
    components = public_components(schemas, choices)
    if plane == "control":
        return control_document(whole, components, commands, choices, base_url)
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


def text(
    plane: Plane,
    choices: Mapping[str, object],
    base_url: str,
    commands: tuple[Route, ...],
    form: Form,
    version: str = VERSIONS[0],
    query: str = "",
    own: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """
    Return the document as UTF-8, with a newline at its end.

    Args:
        plane, choices, base_url, commands: as of `document`.
        form: of the text; a page has the version 3.1 alone.
        version: of OpenAPI.
        query: the part of a page's address that its other forms have too.
        own: what a page shows of its sandbox, by the names in place of it.
    """
    encoded = _ENCODED[form]
    made = _text(plane, json.dumps(dict(choices), sort_keys=True), commands, form, version, query)
    values = {_ADDRESS: encoded(base_url), _ORIGIN: encoded(base_url.partition(SANDBOXES)[0]), **own}
    return _NAMES.sub(lambda name: values[name[0]], made).encode()


@lru_cache(maxsize=_CACHED)
def _text(
    plane: Plane,
    choices: str,
    commands: tuple[Route, ...],
    form: Form,
    version: str = VERSIONS[0],
    query: str = "",
) -> str:
    """Return the document as text, with names in place of what each client has of its own."""
    whole = document(plane, json.loads(choices), _ADDRESS, commands)
    if version == "3.0":
        whole = as_3_0(whole)
    if form == "json":
        return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"
    if form == "yaml":
        return _yaml(whole)
    # Imported here: Jinja takes long to import, and the command line prints documents without it.
    from mockserver.server.docs_page.page import render

    return render(whole, plane, query, sandbox_id=_ID, key=_KEY, views=VIEWS)


def read_document(
    hosted: HostedSandbox, args: Mapping[str, Any], base_url: str, commands: tuple[Route, ...], form: Form
) -> bytes:
    """
    Return a document as UTF-8.

    Args:
        hosted: the sandbox; without a profile its choices are in force.
        args: `plane`, public by default, `profile`, and the version of `openapi`.
        base_url: the address of the sandbox, for the caller.
        commands: the table of the control plane.
        form: of the text.
    """
    plane: Plane = "control" if _known("plane", args.get("plane", "public"), PLANES) == "control" else "public"
    if "profile" in args:
        choices: Mapping[str, object] = {**DEFAULTS, **PROFILES[_known("profile", args["profile"], tuple(PROFILES))]}
    else:
        with hosted.sandbox.lock:
            choices = dict(hosted.sandbox.choices)  # a copy: a document does not count as a use of a choice
    version = _known("openapi", args.get("openapi", VERSIONS[0]), VERSIONS)
    query = f"?{urlencode(args)}" if args and form == "html" else ""
    own = {_ID: html.escape(hosted.id), _KEY: html.escape(hosted.shown_key or "")}
    return text(plane, choices, base_url, commands, form, version, query, own)


def _known(name: str, received: str, values: tuple[str, ...]) -> str:
    if received not in values:
        hint = closest_match_hint(received, values)
        raise ControlError(
            f"MOCK_BAD_{name.upper()}", f"{name}: got {received[:100]!r}; expected {', '.join(values)}{hint}"
        )
    return received


def _yaml(whole: JSON) -> str:
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)  # not the C library, which wraps lines at other places
    writer.default_flow_style = False
    writer.allow_unicode = True
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    writer.width = 120
    writer.representer.ignore_aliases = lambda _: True  # the same example at two places is written twice
    stream = io.StringIO()
    writer.dump(whole, stream)
    return stream.getvalue()
