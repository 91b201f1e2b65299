"""
Interleave: two clients at once, in every order of their calls that matters.

    def test_two_workers(mockserver_server):
        report = mockserver_server.interleave(clients={"worker": promote, "cron": promote})
        assert not report.failed, report.text()
"""

from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.report import InterleaveFinding, InterleaveReport
from mockserver.testing.runs.orders.search import Search, interleaving

__all__ = ["InterleaveFinding", "InterleaveOptions", "InterleaveReport", "Search", "interleaving"]
