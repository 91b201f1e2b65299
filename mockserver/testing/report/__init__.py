"""The report of a failed test."""
