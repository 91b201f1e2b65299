"""The dashboard: pages of a sandbox for people."""
