"""What `MockServer.interleave` takes and returns."""

from mockserver.testing.runs.orders import InterleaveFinding, InterleaveOptions, InterleaveReport

__all__ = ["InterleaveFinding", "InterleaveOptions", "InterleaveReport"]
