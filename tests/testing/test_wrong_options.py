"""Wrong options of a server, of `explore` and of `interleave` are refused by their names, before anything runs."""

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
    ("explore", (reading,), {"runs": "x"}, "runs: got 'x'; expected a number of runs from 1"),
    ("interleave", (), {"clients": PAIR, "bounds": 2}, "interleave: got 'bounds'; expected .*; did you mean 'bound'?"),
    ("interleave", (), {"clients": PAIR, "schedule": ["a"]}, "schedule: got .*; expected a text, such as 'worker"),
    ("interleave", (), {"clients": {1: reading}}, "clients: got the name 1; expected a word"),
    ("interleave", (), {"clients": {"a": 5}}, "clients: got 5 for 'a'; expected a function of a sandbox"),
    ("interleave", (), {"clients": PAIR, "setup": 5}, "interleave: setup: got 5; expected a function of a sandbox"),
]


@pytest.mark.parametrize(("verb", "arguments", "options", "message"), WRONG)
def test_a_wrong_option_is_refused_by_its_name(
    mockserver_server: MockServer, verb: str, arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        getattr(mockserver_server, verb)(*arguments, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": "5055"}, "port: got '5055'; expected a whole number from 0 to 65535, 0 for any free port"),
        ({"port": True}, "port: got True; expected a whole number"),
        ({"port": 65536}, "port: got 65536; expected a whole number"),
        ({"journal_max_entries": "9"}, "journal_max_entries: got '9'; expected a whole number of at least 1"),
        ({"journal_max_bytes": 0}, "journal_max_bytes: got 0; expected a whole number of at least 1"),
        ({"strict": "no"}, "strict: got 'no'; expected True or False"),
        ({"explain": 1}, "explain: got 1; expected True or False"),
        ({"report": None}, "report: got None; expected True or False"),
        (
            {"allow_webhook_hosts": "a.test"},
            r"allow_webhook_hosts: got 'a.test'; expected a list of hosts: \['a.test'\]",
        ),
        (
            {"allow_webhook_hosts": ["http://x/"]},
            "allow_webhook_hosts: got 'http://x/'; expected a host's name or address",
        ),
    ],
)
def test_a_wrong_option_of_a_server_is_refused_by_its_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MockServer(**options)
