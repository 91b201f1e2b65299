"""
Explore: every fault at every call of an ordinary test, and what the client makes of it.

    def launch(sandbox):
        ...  # create, start and follow a campaign with the client under test

    def test_a_launch_survives(mockserver_server):
        report = mockserver_server.explore(launch)
        assert not report.failed, report.text()
"""

from mockserver.testing.explore.exploration import Exploration, explore
from mockserver.testing.explore.findings import ExploreFinding
from mockserver.testing.explore.options import ExploreOptions
from mockserver.testing.explore.placements import ExploreStep, Placement
from mockserver.testing.explore.report import ExploreReport
from mockserver.testing.run_end import RunEnded

__all__ = [
    "Exploration",
    "ExploreFinding",
    "ExploreOptions",
    "ExploreReport",
    "ExploreStep",
    "Placement",
    "RunEnded",
    "explore",
]
