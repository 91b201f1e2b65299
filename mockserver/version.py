"""The project's version, for its metadata and for `/_mock/health`."""

VERSION = "0.1.0"
