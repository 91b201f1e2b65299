"""Where this package's server reads otherwise than h11 on purpose: each difference has a name and a reason."""

from __future__ import annotations

import re

from mockserver.server.http1.request import origin_form
from tests.server.http1_readers import Asked, Verdict

# What the server gives as its reason where h11 takes the request, the difference's name, and why it is meant.
_PARSER = "the request's headers are not HTTP/1.1: "
_CHUNKS = "the chunked body is not HTTP/1.1: "
STRICTER = (
    (_PARSER + "Transfer-Encoding can't", "two lengths", "RFC 9112 6.1: a server may refuse a length and a coding together"),
    (_PARSER + "Content-Length can't", "two lengths", "as above"),
    ("Transfer-Encoding excludes HTTP/1.0", "codings of 1.0", "RFC 9112 6.1: 1.0 has none"),
    (_PARSER + "Duplicate Content-Length", "one length twice", "RFC 9112 6.3: a recipient refuses it, or takes one of the two"),
    (_PARSER + "Invalid character in Content-Length", "one length twice", "as above, in one line"),
    (_PARSER + "Invalid header value char", "control characters", "RFC 9110 5.5: they are invalid; h11 refuses NUL and white space alone"),
    (_PARSER + "Missing expected CR", "bare line feeds", "RFC 9112 2.2: a recipient may take LF for a line end, and need not"),
    (_PARSER + "Invalid header field char", "bare line feeds", "as above, in place of an empty line"),
    (_PARSER + "Unexpected whitespace", "folded lines", "RFC 9112 5.2: a server refuses obs-fold or replaces it, as h11 does"),
    ("the request's target is", "targets", "RFC 9112 3.2: a path, an http url, or * of OPTIONS; this server opens no tunnels"),
    ("the request line is not", "bare line feeds", "as above"),
    ("a line of the request's head", "bare line feeds", "as above"),
    (_CHUNKS + "Expected LF after chunk size", "bare line ends in chunks", "RFC 9112 7.1: CR LF; h11 lets a CR be in an extension"),
    (_CHUNKS + "Missing expected CR", "bare line ends in chunks", "as above"),
    (_CHUNKS + "Invalid character in chunk size", "spaced sizes", "RFC 9112 7.1: white space is bad in a size, and a recipient need not take it"),
    (_CHUNKS + "Invalid character in chunk ext", "extensions", "RFC 9112 7.1.1: names and values; h11 takes any text"),
    (_CHUNKS, "trailers", "they are judged as headers are: neither folded nor with control characters"),
    ("the trailers of the chunked body are longer", "bounds", "h11 bounds them by nothing in these tests"),
    ("a line of the chunked body is longer", "bounds", "as above"),
    ("the chunks have far more", "bounds", "as above"),
    ("the request needs exactly one Host", "hosts", "RFC 9112 3.2: a comma is in no host; a proxy may have joined two"),
    ("Host is not a host name", "hosts", "RFC 9110 7.2: a host and an optional port; h11 takes any text"),
    ("HTTP/", "versions", "RFC 9110 15.6.6: another major version is another protocol; h11 reads it as 1.1"),
    ("the only supported expectation", "expectations", "RFC 9110 10.1.1: an expectation that is not met is refused; h11 leaves it to the app"),
)  # fmt: skip
# What h11 gives as its reason where the server takes the request.
LOOSER = (
    (r"no request line received", "empty lines", "RFC 9112 2.2: a server should ignore an empty line before a request"),
    (r"illegal chunk header: bytearray\(b'0[0-9A-Fa-f]{20,}", "long sizes", "RFC 9112 7.1: any number of digits; h11 takes twenty"),
    (r"illegal request line: bytearray\(b[\"'][^ ]+ [^ ]*\\x[89a-f]", "raw bytes in targets", "clients send UTF-8 unescaped, and servers take it"),
)  # fmt: skip


def difference(ours: Verdict, theirs: Verdict, sent: bytes) -> str | None:
    """The name of the first difference, None where there is none; with a question mark where it is not meant."""
    for our, their in zip(ours.asked, theirs.asked, strict=False):
        if our != their:
            return "headers" if our == _as_handled(their) else "?two readings"
    if _goes_on_in_1_0(theirs, len(ours.asked), ours.why):
        return "kept connections of 1.0"  # RFC 9112 9.3: by `keep-alive`; h11 ends them
    if len(ours.asked) == len(theirs.asked) and bool(ours.why) == bool(theirs.why):
        return None
    if ours.why and len(ours.asked) <= len(theirs.asked):
        return next((name for why, name, _ in STRICTER if ours.why.startswith(why)), f"?refused: {ours.why}")
    if sent.endswith(b"\r") and theirs.why == "illegal request line":
        return "empty lines"  # the first half of one
    return next((name for why, name, _ in LOOSER if re.match(why, theirs.why)), f"?taken: {theirs.why}")


def _as_handled(asked: Asked) -> Asked:
    """As the handler gets it: no name with an underscore, and path and host of an absolute target (RFC 9112 3.2.2)."""
    headers = {name: value for name, value in asked.headers.items() if "_" not in name}
    if found := re.match(r"https?://([^/?]+)", asked.target, re.IGNORECASE):
        headers["HOST"] = found[1]
    return asked._replace(headers=headers, target=origin_form(asked.target)[1])


def _goes_on_in_1_0(theirs: Verdict, count: int, why: str) -> bool:
    """Whether the server went on where h11 ended, after a request that asks for it by a header of HTTP/1.0."""
    if theirs.why or not theirs.asked or (count == len(theirs.asked) and not why):
        return False
    return count >= len(theirs.asked) and "keep-alive" in theirs.asked[-1].headers.get("CONNECTION", "").lower()
