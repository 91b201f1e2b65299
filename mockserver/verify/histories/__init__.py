"""Histories: what the exchanges of a recording show of the service when they are taken together."""
