"""Clients that reach a sandbox in this process."""
