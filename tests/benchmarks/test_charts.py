"""The charts of the figures page are drawn from the figures that are stored next to them."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from tests.benchmarks import charts


@pytest.mark.parametrize("name", charts.CHARTS)
def test_a_chart_is_drawn_from_the_stored_figures(name: str) -> None:
    for chart, text in charts.drawn(name).items():
        assert text == (charts.FOLDER / f"{chart}.svg").read_text(encoding="utf-8")
        ElementTree.fromstring(text)


def test_labels_of_lines_that_end_at_one_value_do_not_overlap() -> None:
    series = [charts.Series(name, [(1, 2.0), (64, 5.0)]) for name in ("one", "two", "three")]
    root = ElementTree.fromstring(charts.lines("Title", "connections", "ms", series))
    texts = {text.text: float(text.attrib["y"]) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    heights = sorted(texts[each.label] for each in series)

    assert all(below - above >= 15 for above, below in pairwise(heights))
