"""
Interleave: two clients at once, in every order of their calls that matters.

    def test_two_workers(mockserver_server):
        report = mockserver_server.interleave(clients={"worker": promote, "cron": promote})
        assert not report.failed, report.text()
"""

from mockserver.testing.interleave.findings import InterleaveFinding
from mockserver.testing.interleave.options import InterleaveOptions
from mockserver.testing.interleave.report import InterleaveReport
from mockserver.testing.interleave.search import Search

__all__ = ["InterleaveFinding", "InterleaveOptions", "InterleaveReport", "Search"]
