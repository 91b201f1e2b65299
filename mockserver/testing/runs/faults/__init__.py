"""
Explore: every fault at every call of an ordinary test, and what the client makes of it.

    def launch(sandbox):
        ...  # create, start and follow a campaign with the client under test

    def test_a_launch_survives(mockserver_server):
        report = mockserver_server.explore(launch)
        assert not report.failed, report.text()
"""

from mockserver.testing.run_end import RunEnded
from mockserver.testing.runs.faults.exploration import Exploration, explore
from mockserver.testing.runs.faults.options import ExploreOptions
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.report import ExploreFinding, ExploreReport
from mockserver.testing.runs.faults.verdicts import EndedRun

__all__ = [
    "EndedRun",
    "Exploration",
    "ExploreFinding",
    "ExploreOptions",
    "ExploreReport",
    "ExploreStep",
    "Placement",
    "RunEnded",
    "explore",
]
