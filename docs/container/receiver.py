"""An example receiver of webhooks: it prints each event and answers 204. Register it as http://receiver:8080/."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(BaseHTTPRequestHandler):
    """One request."""

    def do_POST(self) -> None:
        """Print the event and accept it; a receiver of your own verifies the signature first."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(json.loads(body)["event"], flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print events only."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    server = ThreadingHTTPServer(("", port), Receiver)
    print(f"listens on {server.server_port}", flush=True)
    server.serve_forever()
