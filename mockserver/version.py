"""The project's version, as its metadata gives it and as `/_mock/health` returns it."""

VERSION = "0.1.0"
