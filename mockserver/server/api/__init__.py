"""The public API over HTTP: requests, routing, responses and their JSON."""
