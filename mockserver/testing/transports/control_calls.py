"""
Calls of the API through the control plane of a running server, with the waits of a client in the server's process.

A call that the control plane does not take (another part of the server, a large upload) is sent over the socket as it is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Literal, cast

from mockserver.testing.transports.in_process import Response
from mockserver.wire.response import HttpResponse, NoResponse, Transmission

__tracebackhide__ = True  # pytest shows the frames of the client, whose library raises as over a socket

_BODY_MAX_BYTES = 512 * 1024  # of a call in the body of a command, which has a bound of a megabyte
_OTHER_PARTS = ("/_mock/", "/media/", "/connect/")

# Sends a request to a url, the whole one, within some seconds, and returns the response.
SendUrl = Callable[[str, str, Mapping[str, str], bytes | None, float | None], Response]


class ControlCalls:
    """
    Calls of one sandbox.

    Args:
        base_url: The sandbox's.
        send: Sends a request over a socket.
        headers: Those of a command: the content type, and the token if there is one.
    """

    def __init__(self, base_url: str, send: SendUrl, headers: Mapping[str, str]) -> None:
        self._base_url = base_url
        self._send = send
        self._headers = headers

    def send_request(
        self,
        method: str,
        origin: str,
        target: str,
        headers: dict[str, str],
        body: bytes,
        timeout_s: float | None = None,
    ) -> HttpResponse | NoResponse:
        """Send a request of a client library; ValueError for a url that is not the sandbox's (see `in_process.Send`)."""
        path = f"{origin}{target}".removeprefix(self._base_url)
        if path == f"{origin}{target}" or not path.startswith(("/", "?")):
            raise ValueError(
                f"got {origin}{target}; expected {self._base_url}/...: this client reaches no other address"
            )
        return self.call(method, path, headers, body, timeout_s)

    def call(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> HttpResponse | NoResponse:
        """Send a request to a path below the sandbox's base url."""
        if path.startswith(_OTHER_PARTS) or len(body) > _BODY_MAX_BYTES or not path.startswith("/"):
            if path.startswith("/_mock/") and "authorization" in self._headers:
                headers = {"authorization": self._headers["authorization"], **headers}
            try:
                reply = self._send(method, self._base_url + path, headers, body or None, timeout_s)
            except TimeoutError:
                return NoResponse("timeout")
            except ConnectionResetError as failure:
                return NoResponse("drop" if isinstance(failure, HTTPException) else "reset")
            return HttpResponse(reply.status, tuple(reply.headers.items()), reply.body)
        call: dict[str, Any] = {"method": method, "path": path, "headers": dict(headers)}
        call |= {"bodyBase64": base64.b64encode(body).decode("ascii")} if body else {}
        call |= {} if timeout_s is None else {"timeout": timeout_s}
        reply = self._send("POST", f"{self._base_url}/_mock/calls", self._headers, json.dumps(call).encode(), None)
        if reply.status == 410:  # the sandbox is closed: its API responds likewise
            return HttpResponse(reply.status, tuple(reply.headers.items()), reply.body)
        answer = reply.json()
        if reply.status >= 400:
            raise ValueError(answer["message"])
        return _response(answer)


def _response(answer: Mapping[str, Any]) -> HttpResponse | NoResponse:
    """Return what the client gets; the part of a body that it does not receive is replaced by zeros of no meaning."""
    if "noResponse" in answer:
        return NoResponse(cast('Literal["drop", "reset", "timeout"]', answer["noResponse"]))
    received, whole_bytes, end = base64.b64decode(answer["bodyBase64"]), answer["wholeBytes"], answer["end"]
    headers = tuple((name, value) for name, value in answer["headers"])
    response = HttpResponse(answer["status"], headers, received)
    if end == "cut":
        body = received.ljust(whole_bytes, b"\0")
        return response._replace(body=body, transmission=Transmission(truncate_bytes=len(received)))
    if end == "timeout":  # two pieces: what was received, and one for which the client does not wait
        transmission = Transmission(chunks=2, wait=lambda span: "timed-out")
        return response._replace(body=received.ljust(2 * len(received), b"\0"), transmission=transmission)
    return response
