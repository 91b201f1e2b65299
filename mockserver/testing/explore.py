"""What `MockServer.explore` takes and returns."""

from mockserver.testing.runs.faults import ExploreFinding, ExploreOptions, ExploreReport, ExploreStep, Placement

__all__ = ["ExploreFinding", "ExploreOptions", "ExploreReport", "ExploreStep", "Placement"]
