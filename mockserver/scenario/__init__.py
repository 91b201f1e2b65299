"""Scenario documents: read, checked whole, and turned into records of a sandbox."""
