"""The project's version, as its metadata gives it and as `/_mock/health` tells it."""

VERSION = "0.1.0"
