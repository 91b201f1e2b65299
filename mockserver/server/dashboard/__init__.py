"""The dashboard: pages of a sandbox for people, and the live stream that they follow."""
