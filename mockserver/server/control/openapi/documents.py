"""The documents of both planes as JSON and YAML text; the same choices give the same bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

from mockserver.contract.openapi.document import public_document
from mockserver.server.control.openapi.command_samples import record_command_samples
from mockserver.server.control.openapi.control import ControlPlane, control_document
from mockserver.server.control.openapi.samples import record_samples
from mockserver.version import VERSION

JSON = dict[str, Any]
Plane = Literal["public", "control"]
Format = Literal["json", "yaml"]

_CACHED: Final = 16  # a document takes 30 to 60 ms to make, as YAML half a second


def document(plane: Plane, choices: Mapping[str, object], base_url: str, control: ControlPlane) -> JSON:
    """
    Return the OpenAPI document of a plane.

    Args:
        plane: the public API, or the control plane.
        choices: every choice with its option; the public document describes the API under them.
        base_url: the address of the sandbox.
        control: the control plane.
    """
    if plane == "public":
        return public_document(choices, record_samples(choices, base_url), base_url)
    rows = {row.id: (row.method, row.path) for row in control.commands}
    samples = record_command_samples(rows, control.handle, choices, base_url)
    return control_document(control.commands, choices, samples, base_url, VERSION)


def text(plane: Plane, choices: Mapping[str, object], base_url: str, control: ControlPlane, form: Format) -> str:
    """Return the document as text, with a newline at its end; the arguments are those of `document`."""
    return _text(plane, json.dumps(dict(choices), sort_keys=True), base_url, control, form)


@lru_cache(maxsize=_CACHED)
def _text(plane: Plane, choices: str, base_url: str, control: ControlPlane, form: Format) -> str:
    whole = document(plane, json.loads(choices), base_url, control)
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n" if form == "json" else _yaml(whole)


def page(plane: Plane, choices: Mapping[str, object], base_url: str, control: ControlPlane, query: str) -> str:
    """Return the document as HTML; `query` is that of its other formats, the other arguments are those of `document`."""
    return _page(plane, json.dumps(dict(choices), sort_keys=True), base_url, control, query)


@lru_cache(maxsize=_CACHED)
def _page(plane: Plane, choices: str, base_url: str, control: ControlPlane, query: str) -> str:
    # Imported here: Jinja takes long to import, and the command line prints documents without it.
    from mockserver.server.docs_page.page import render

    return render(document(plane, json.loads(choices), base_url, control), plane, query)


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
