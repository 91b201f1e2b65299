"""The match of a path, which calls that repeat it share."""

from __future__ import annotations

from mockserver.server.api.router import LATEST_PATHS, route


def test_a_path_that_is_repeated_is_matched_once() -> None:
    assert route("GET", "/v1/campaigns/polled") is route("GET", "/v1/campaigns/polled")


def test_the_matches_of_paths_that_were_not_repeated_lately_are_forgotten() -> None:
    first = route("GET", "/v1/campaigns/first")
    for number in range(LATEST_PATHS):
        route("GET", f"/v1/campaigns/{number}")

    again = route("GET", "/v1/campaigns/first")
    assert first == again
    assert first is not again
