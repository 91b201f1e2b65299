"""HTML pages of one file: without script, without another address, and with the only style that their policy allows."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment

from mockserver import _templates
from mockserver.contract.text import printable
from mockserver.version import VERSION

_STYLE: Final = Path(__file__).parent / "static" / "page.css"


def render_page(template: Path, **context: Any) -> str:
    """
    Return a page.

    Args:
        template: Its file, which gets the style, the policy and the version too.
        context: What the template shows; text from outside passes its filter `visible`.
    """
    style = _STYLE.read_text(encoding="utf-8")
    page = _environment(template.parent).get_template(template.name)
    digest = b64encode(sha256(style.encode()).digest()).decode()  # the policy allows this style alone
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return page.render(**context, style=style, policy=policy, version=VERSION)


@cache
def _environment(folder: Path) -> Environment:
    environment = _templates.environment(folder)
    environment.filters["visible"] = printable
    return environment
