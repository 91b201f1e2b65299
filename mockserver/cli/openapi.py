"""`mockserver openapi`: the OpenAPI document of the public API, as a profile behaves, or of the control plane."""

from __future__ import annotations

import argparse
from typing import Final, TextIO

from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.openapi.older import VERSIONS
from mockserver.contract.text import closest_match_hint

# The address at which `mockserver serve` listens by default.
_BASE_URL: Final = "http://127.0.0.1:5055"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    command.add_argument("--control", action="store_true", help="the document of the control plane, /_mock/...")
    help_text = f"the API as this profile behaves: {', '.join(PROFILES)}, or a YAML or JSON file (default: literal)"
    command.add_argument("--profile", default="literal", metavar="NAME|FILE", help=help_text)
    help_text = "the version of OpenAPI: 3.1 (default), or 3.0 for generators that lack 3.1"
    command.add_argument("--openapi", default=VERSIONS[0], type=_version, metavar="VERSION", help=help_text)


def _version(text: str) -> str:
    if text not in VERSIONS:
        message = f"got {text!r}; expected {', '.join(VERSIONS)}{closest_match_hint(text, VERSIONS)}"
        raise argparse.ArgumentTypeError(message)
    return text


def print_document(options: argparse.Namespace, out: TextIO) -> int:
    """Print a document."""
    from mockserver.contract.choices import DEFAULTS
    from mockserver.scenario.choices import load_profile, merge_choices
    from mockserver.server.control.openapi import documents

    choices = merge_choices(DEFAULTS, load_profile(options.profile))
    plane: documents.Plane = "control" if options.control else "public"
    document = documents.document(plane, choices, _BASE_URL)
    print(documents.text(document, options.openapi), end="", file=out)
    return 0
