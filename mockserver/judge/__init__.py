"""Judges, which read what was sent and never write: of the client, of the service, of its choices; and the coverage."""
