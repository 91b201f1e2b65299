"""The environment of every HTML template: each value is escaped, and an undefined one is an error."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(*folders: Path) -> Environment:
    """Return a new environment with the templates of these folders."""
    return Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
