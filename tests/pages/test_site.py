"""The settings of the site: its navigation, the order of its search, and what a theme leaves out for people without a mouse."""

from __future__ import annotations

import re
from typing import Any

from docs import conf


def test_captions_have_a_level_and_the_keyboard_reaches_code() -> None:
    context: dict[str, Any] = {
        "furo_navigation_tree": '<p class="caption" role="heading">Guides</p>',
        "body": '<div class="highlight"><pre>x</pre></div>',
    }

    conf._open_to_keyboards(None, "index", "page.html", context, None)
    assert 'role="heading" aria-level="2"' in context["furo_navigation_tree"]
    assert '<pre tabindex="0">' in context["body"]


def test_the_search_puts_guides_before_the_reference() -> None:
    order = (conf.DOCS / "_static" / "search_order.js").read_text(encoding="utf-8")

    assert str(conf.DOCS / "_static" / "search_order.js") == conf.html_search_scorer
    assert 'page.startsWith("reference/")' in order


def test_the_navigation_has_every_page_once() -> None:
    navigation = "\n".join(conf._navigation())

    pages = {path.stem for path in conf.DOCS.glob("*.md")} - {"index"} | {"reference/index"}
    assert sorted(pages) == sorted(re.findall(r"^/(.*)$", navigation, re.MULTILINE))
