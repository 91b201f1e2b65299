"""Drawing a scene: its template in Brazilian Portuguese, its QR code, and the headers that guard every page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mockserver.core.sandbox import Sandbox
from mockserver.edge import spelling
from mockserver.edge.connect.scenes import Scene
from mockserver.edge.replies import Answer

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
_PAIRING = "https://pareamento.invalid/"  # a name that resolves nowhere (RFC 6761): a scanned code leads to nobody

GUARDS = (
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("X-Robots-Tag", "noindex, nofollow"),
)


def date(sandbox: Sandbox) -> tuple[str, str]:
    """The Date header, by the sandbox's clock."""
    return "Date", spelling.http_date(sandbox.now)


def drawn(scene: Scene, prefix: str, date: tuple[str, str]) -> Answer:
    """The answer that shows the scene, or sends the browser to its location."""
    policy = ("Content-Security-Policy", _policy(scene))
    if scene.location is not None:
        return Answer(scene.status, (date, ("Location", scene.location), policy, *GUARDS), b"")
    facts = {**scene.facts, "prefix": prefix}
    if facts.get("pairing"):
        facts["qr"] = _qr_code(_PAIRING + facts["pairing"])
    body = _environment().get_template(f"{scene.page}.html").render(facts).encode()
    return Answer(
        scene.status,
        (("Content-Type", "text/html; charset=utf-8"), date, policy, *scene.headers, *GUARDS),
        body,
    )


def _policy(scene: Scene) -> str:
    """Nothing but our own stylesheet and icon; forms go to us, and from there to the returnUrl's origin."""
    forms = " ".join(filter(None, ("'self'", scene.goes_to))) if "secret" in scene.facts else "'none'"
    return (
        "default-src 'none'; style-src 'self'; img-src 'self'; "
        f"form-action {forms}; frame-ancestors 'none'; base-uri 'none'"
    )


@cache
def _environment() -> Environment:
    """The templates; made when the first page is asked for, so that nobody else pays for it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _qr_code(content: str) -> str:
    """The code as an inline drawing without styles or scripts."""
    import segno

    drawing: str = segno.make(content, micro=False, error="m").svg_inline(
        scale=6, border=4, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None
    )
    return drawing
