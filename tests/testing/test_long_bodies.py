"""Long JSON bodies in reports and traces: whole members, and the number of those that are left out."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mockserver.report.run.exchanges import brief_json, shorten


def test_a_long_object_shows_whole_members_and_how_many_are_left_out() -> None:
    text = shorten({f"name{n}": "x" * 40 for n in range(10)})

    assert text.startswith('{"name0": "xxxx')
    assert text.endswith('xxx", 5 more members}')


def test_a_long_list_shows_whole_elements() -> None:
    text = shorten([{"id": f"campaign_{n}", "status": "draft"} for n in range(50)])

    assert text.startswith('[{"id": "campaign_0", "status": "draft"}, ')
    assert text.endswith('"status": "draft"}, 44 more elements]')


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_shortened_value_is_never_much_longer_than_its_limit(value: object) -> None:
    text = brief_json(value, 300)

    assert len(text) <= 330
    assert len(json.dumps(value, ensure_ascii=False)) > 300 or json.loads(text) == value
