"""
Effects on the wire: each is one row and one Python method, and nothing else in the package names it but the transports.

1. Of two faults of one rule no two decide the same phase.
2. A transport sends a response, its `Transmission` or `NoResponse`: one function in each of `server/wsgi.py`,
   `testing/transports/requests_adapter.py`, `testing/transports/httpx_transport.py` and
   `testing/transports/in_process.py`. Only a fault that breaks a response in a new way changes these.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final, Literal

from mockserver._json import JSON
from mockserver.contract.durations import Length, length
from mockserver.contract.effects.model import (
    DURATION,
    ON_FLAG,
    Draw,
    EffectMethods,
    Put,
    Seconds,
    WireFault,
    object_schema,
    reference,
)
from mockserver.contract.errors import ERRORS

__tracebackhide__ = True  # pytest shows the line of the test that calls a method of this module
When = Literal["before", "after"]

_WHEN: Mapping[str, Any] = MappingProxyType(reference("when"))
_RETRY_AFTER: Mapping[str, Any] = MappingProxyType(
    {"title": "Retry-After in seconds", "type": "integer", "minimum": 0, "maximum": 366 * 24 * 3600}
)
_PROXY = "nginx"
_REPLY: Mapping[str, Any] = MappingProxyType(
    {
        "status": {"title": "Status", "type": "integer", "minimum": 200, "maximum": 599},
        "headers": {
            "title": "Headers",
            "type": "object",
            "propertyNames": {
                "title": "a header name: letters, digits and !#$%&'*+.^_`|~-",
                "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?!\\n)$",
                "minLength": 1,
            },
            "additionalProperties": {
                "type": "string",
                "title": "a header value: Latin-1 text in one line",
                "pattern": "^[\\t\\x20-\\x7e\\x80-\\xff]*(?!\\n)$",
            },
        },
        "body": {"title": "Body"},
    }
)
_GATEWAY: Mapping[str, Any] = MappingProxyType(
    {
        "when": reference("when", "When"),
        "status": {"title": "Status", "enum": [502, 503, 504]},
        "server": {
            "title": "Name of the proxy",
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?(?!\\n)$",
        },
    }
)


def _gateway(when: When = "before", status: int = 502, server: str = _PROXY) -> JSON:
    """Return the fields of a proxy's error page."""
    title = f"{status} {HTTPStatus(status).phrase}"
    page = (
        f"<!DOCTYPE html>\n<html>\n<head><title>{title}</title></head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>The upstream server sent no valid response.</p>\n<hr><i>{escape(server)}</i>\n</body>\n</html>\n"
    )
    headers = {"Server": server, "Content-Type": "text/html"}
    return {"reply": (status, headers, page), "skips_operation": when == "before"}


def _ending(name: Literal["drop", "reset"], meaning: str, after: str, before: str) -> WireFault:
    """Return the row of a fault that ends the connection; `after` and `before` are the words of its draws."""
    return WireFault(
        name=name,
        meaning=f"{meaning} without an answer, before or after the operation took effect",
        phases=("transmission",),
        argument="before | after",
        schema=_WHEN,
        fields=lambda when, _: {"termination": name, "skips_operation": when == "before"},
        examples=("after", "before"),
        reaches_client="nothing",
        has_when=True,
        draws=(
            Draw(f"{name}-after", after, ("after",), of_writes_only=True, weight=3),
            Draw(f"{name}-before", before, ("before",), weight=2),
        ),
    )


ROWS: Final = (
    _ending(
        "drop",
        "close",
        after="the operation takes effect, its answer is lost",
        before="the operation does not run, and no answer arrives",
    ),
    _ending(
        "reset",
        "reset the TCP connection",
        after="as drop-after, by a reset",
        before="as drop-before, by a reset",
    ),
    WireFault(
        name="error",
        meaning="refuse with a code of the catalogue instead of running the operation; `retryAfter` in seconds",
        phases=("operation", "response"),
        argument="CODE, or {code, retryAfter}",
        schema={
            "anyOf": [
                {"enum": sorted(ERRORS)},
                object_schema(
                    "Code and wait",
                    {"code": {"title": "Code", "enum": sorted(ERRORS)}, "retryAfter": _RETRY_AFTER},
                    "code",
                ),
            ]
        },
        fields=lambda error, _: {
            "error": (error, None) if isinstance(error, str) else (error["code"], error.get("retryAfter"))
        },
        examples=("INTERNAL_ERROR", {"code": "RATE_LIMIT_EXCEEDED", "retryAfter": 5}),
        draws=(
            Draw("internal-error", "500 instead of running the operation", ("INTERNAL_ERROR",), weight=2),
            Draw(
                "rate-limit",
                "429 with a Retry-After",
                tuple({"code": "RATE_LIMIT_EXCEEDED", "retryAfter": seconds} for seconds in (1, 30, 61)),
                weight=2,
            ),
            Draw("refusal", "a refusal that no retry mends", ("SUBSCRIPTION_INACTIVE", "API_KEY_INVALID")),
        ),
    ),
    WireFault(
        name="reply",
        meaning="send this answer instead of running the operation; text as it is, any other body as JSON",
        phases=("operation", "response"),
        argument="{status, headers, body}",
        schema=object_schema("Reply", _REPLY, "status"),
        fields=lambda reply, _: {
            "reply": (reply["status"], reply.get("headers", {}), reply.get("body")),
            "skips_operation": True,
        },
        examples=({"status": 413, "headers": {"Content-Type": "text/plain"}, "body": "too large"},),
    ),
    WireFault(
        name="truncate",
        meaning="send the first bytes of the body under the full Content-Length, then close",
        phases=("transmission",),
        argument="bytes",
        schema={"type": "integer", "minimum": 0},
        fields=lambda size_bytes, _: {"truncate_bytes": size_bytes},
        examples=(20,),
        reaches_client="other",
        of_bodies_only=True,
        draws=(Draw("cut-body", "the answer ends in the middle", (0, 1, 20)),),
    ),
    WireFault(
        name="garble",
        meaning="send 200 with a body that is not JSON, after the operation took effect",
        phases=("response",),
        argument="true",
        schema=ON_FLAG,
        fields=lambda *_: {"garble": True},
        examples=(True,),
        reaches_client="other",
        draws=(Draw("garbled-body", "200 with a body that is not JSON", (True,)),),
    ),
    WireFault(
        name="bad-gateway",
        meaning="send a proxy's 502, 503 or 504 in HTML, before or after the operation took effect",
        phases=("operation", "response"),
        argument="before | after, or {when, status, server}",
        schema={
            "anyOf": [{"enum": ["before", "after"]}, object_schema("When, status and proxy", _GATEWAY, needs_any=True)]
        },
        fields=lambda argument, _: _gateway(**({"when": argument} if isinstance(argument, str) else argument)),
        examples=("after", "before", {"when": "after", "status": 504, "server": "edge-proxy"}),
        reaches_client="other",
        has_when=True,
        draws=(
            Draw("bad-gateway", "a proxy's own 502, and the operation does not run", ("before",)),
            Draw(
                "bad-gateway-after",
                "a proxy's own 502 or 504, and the operation takes effect",
                ("after", {"when": "after", "status": 504}),
                True,
            ),
        ),
    ),
    WireFault(
        name="delay",
        meaning="wait before the operation; in process the wait moves the clock",
        phases=("wait",),
        argument="duration",
        schema=DURATION,
        fields=lambda argument, read_wait: {"delay_before": read_wait(argument, "")},
        examples=("5s",),
        keeps_waiting=True,
        draws=(Draw("delay", "the operation runs late", Seconds(at_most=60)),),
    ),
    WireFault(
        name="delay-after",
        meaning="send the answer late, after the operation took effect",
        phases=("wait after",),
        argument="duration",
        schema=DURATION,
        fields=lambda argument, read_wait: {"delay_after": read_wait(argument, "")},
        examples=("40s",),
        keeps_waiting=True,
        draws=(Draw("delay-after", "the answer arrives late", Seconds(at_most=60)),),
    ),
    WireFault(
        name="dribble",
        meaning="send the body slowly, in this number of pieces over this length of time",
        phases=("transmission",),
        argument="{chunks, over}",
        schema=object_schema(
            "Dribble",
            {
                "chunks": {"title": "Pieces", "type": "integer", "minimum": 2, "maximum": 1000},
                "over": {**DURATION, "title": "Over"},
            },
            "chunks",
            "over",
        ),
        fields=lambda body, read_wait: {"chunks": body["chunks"], "over": read_wait(body["over"], "/over")},
        examples=({"chunks": 5, "over": "10s"},),
        keeps_waiting=True,
        of_bodies_only=True,
    ),
    WireFault(
        name="stale",
        meaning="answer a read as before the last change",
        phases=("operation",),
        argument="true",
        schema=ON_FLAG,
        fields=lambda *_: {"stale": True},
        of_reads_only=True,
        examples=(True,),
    ),
)


class WireMethods(EffectMethods[Put]):
    """The effects on the wire, each a method that adds the rule with this effect alone."""

    def drop(self, when: When) -> Put:
        """
        Close without an answer, before or after the operation took effect.

        Args:
            when: "before" (the operation does not run) or "after" (it took effect).
        """
        return self.do({"drop": when})

    def reset(self, when: When) -> Put:
        """
        Reset the TCP connection without an answer, before or after the operation took effect.

        Args:
            when: "before" (the operation does not run) or "after" (it took effect).
        """
        return self.do({"reset": when})

    def error(self, code: str, *, retry_after: int | None = None) -> Put:
        """
        Refuse with a code of the catalogue instead of running the operation; `retryAfter` in seconds.

        Args:
            code: A code of the API document, such as "RATE_LIMIT_EXCEEDED".
            retry_after: The `Retry-After` of the response in seconds; by default the one that the choices set.
        """
        return self.do({"error": code if retry_after is None else {"code": code, "retryAfter": retry_after}})

    def reply(self, status: int, body: Any = None, headers: Mapping[str, str] | None = None) -> Put:
        """
        Send this answer instead of running the operation; text as it is, any other body as JSON.

        Args:
            status: The HTTP status.
            body: A text, which is sent unchanged, or a value, which is sent as JSON; None for an empty body.
            headers: Headers by name.
        """
        return self.do({"reply": {"status": status, "headers": dict(headers or {}), "body": body}})

    def truncate(self, body_bytes: int) -> Put:
        """
        Send the first bytes of the body under the full Content-Length, then close.

        Args:
            body_bytes: The number of bytes of the body that are sent.
        """
        return self.do({"truncate": body_bytes})

    def garble(self) -> Put:
        """Send 200 with a body that is not JSON, after the operation took effect."""
        return self.do({"garble": True})

    def bad_gateway(self, when: When = "before", *, status: Literal[502, 503, 504] = 502, server: str = _PROXY) -> Put:
        """
        Send a proxy's 502, 503 or 504 in HTML, before or after the operation took effect.

        Args:
            when: "before" (the operation does not run) or "after" (it took effect).
            status: The HTTP status of the proxy.
            server: The proxy's name, in the header `Server` and in the page.
        """
        is_plain = (status, server) == (502, _PROXY)
        return self.do({"bad-gateway": when if is_plain else {"when": when, "status": status, "server": server}})

    def delay(self, by: Length) -> Put:
        """
        Wait before the operation; in process the wait moves the clock.

        Args:
            by: The wait: `"5s"`, seconds, or a timedelta.
        """
        return self.do({"delay": length(by)})

    def delay_after(self, by: Length) -> Put:
        """
        Send the answer late, after the operation took effect.

        Args:
            by: The wait: `"5s"`, seconds, or a timedelta.
        """
        return self.do({"delay-after": length(by)})

    def dribble(self, chunks: int, over: Length) -> Put:
        """
        Send the body slowly, in this number of pieces over this length of time.

        Args:
            chunks: The number of pieces, from 2 to 1000.
            over: The length of time from the first piece to the last: `"10s"`, seconds, or a timedelta.
        """
        return self.do({"dribble": {"chunks": chunks, "over": length(over)}})

    def stale(self) -> Put:
        """Answer a read as before the last change."""
        return self.do({"stale": True})
