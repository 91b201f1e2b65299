"""Calls to a real service, as a trace."""
