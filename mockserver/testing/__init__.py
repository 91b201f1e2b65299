"""The Python interface for tests: servers, sandboxes, transports, reports and strategies."""
