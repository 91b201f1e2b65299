"""Wrong options of `explore` and `interleave` are refused by their names, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import MockServer, Sandbox


def reading(sandbox: Sandbox) -> None:
    sandbox.call("GET", "/v1/campaigns")


PAIR: Any = {"a": reading, "b": reading}
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("explore", (reading,), {"fauls": ()}, "explore: got 'fauls'; expected .*; did you mean 'faults'?"),
    ("explore", ("go",), {}, "explore: got 'go'; expected a function of a sandbox"),
    ("explore", (reading,), {"settings": 5}, "explore: got settings=5; expected arguments of `sandbox` by their names"),
    ("explore", (reading,), {"strict": "no"}, "strict: got 'no'; expected True or False"),
    ("explore", (reading,), {"prune": "no"}, "prune: got 'no'; expected True or False"),
    ("explore", (reading,), {"seed": "x"}, "seed: got 'x'; expected an integer"),
    ("interleave", (), {"clients": PAIR, "bounds": 2}, "interleave: got 'bounds'; expected .*; did you mean 'bound'?"),
    ("interleave", (), {"clients": PAIR, "schedule": ["a"]}, "schedule: got .*; expected a text, such as 'worker"),
    ("interleave", (), {"clients": {1: reading}}, "clients: got the name 1; expected a word"),
    ("interleave", (), {"clients": {"a": 5}}, "clients: got 5 for 'a'; expected a function of a sandbox"),
    ("interleave", (), {"clients": PAIR, "setup": 5}, "interleave: setup: got 5; expected a function of a sandbox"),
    ("interleave", (), {"clients": PAIR, "split": "no"}, "split: got 'no'; expected True or False"),
]


@pytest.mark.parametrize(("verb", "arguments", "options", "message"), WRONG)
def test_a_wrong_option_is_refused_by_its_name(
    mockserver_server: MockServer, verb: str, arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        getattr(mockserver_server, verb)(*arguments, **options)
