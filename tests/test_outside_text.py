"""
Text from outside is read where a failure is caught: the package's source holds no reading that can raise past its caller.

`int`, `float`, `str.isdigit`, `bytes.decode`, `json.loads`, `urlsplit`, `fromisoformat` and `parsedate_to_datetime` each fail
on some text in a way that is easily forgotten: digits beyond ASCII, five thousand digits, nesting, half a character, a lone
bracket. Each is in a `try` that catches what it raises, or in a row of `SAFE` with the reason why it cannot.
`contract/text.py` has the functions that never raise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "mockserver"
VALUE = frozenset({"ValueError", "Exception"})
NESTING = frozenset({"RecursionError", "Exception"})
# Exceptions of a reading: for each of these sets, one of its names has to be caught. The empty tuple means never.
RAISES = {
    "int": (VALUE,),
    "float": (VALUE,),
    "decode": (VALUE | {"UnicodeDecodeError", "UnicodeError"},),
    "loads": (VALUE, NESTING),
    "urlsplit": (VALUE,),
    "urlparse": (VALUE,),
    "fromisoformat": (VALUE,),
    "parsedate_to_datetime": (VALUE, frozenset({"TypeError", "Exception"}), frozenset({"OverflowError", "Exception"})),
    "isdigit": (),
    "isnumeric": (),
    "isdecimal": (),
}
# A function of a module, the reading in it, and why it cannot raise there.
SAFE = {
    ("contract.durations", "parse_duration", "float"): "at most 22 characters that a regular expression found",
    ("contract.text", "whole_number", "int"): "at most fifteen ASCII digits",
    ("contract.schemas", "read", "loads"): "a schema of the package",
    ("server.control.openapi.documents", "_text", "loads"): "choices that the caller has encoded",
    ("testing.report.folder", "file_name", "decode"): "the beginning of a name, which may end inside a character",
    ("trace.entries", "answer_status", "int"): "a number from 100 to 999",
    ("cli.seen_scenario", "_drop", "int"): "a place in a list, in a path that the parser of scenarios has made",
    ("cli.openapi", "print_document", "decode"): "a document that the package has encoded",
    ("contract.openapi.skeleton", "read", "loads"): "a skeleton of the package",
    ("contract.openapi.skeleton", "apply", "int"): "a place in a skeleton of the package",
    ("contract.openapi.skeleton", "place", "int"): "a place in a skeleton of the package",
    ("core.operations.validation", "_any_integer", "int"): "at most as many digits as the interpreter reads",
    ("core.operations.validation", "_short_integer", "int"): "at most as many digits as the interpreter reads",
    ("wire.formats", "_writable", "float"): "a Decimal, which is infinite if it is too large",
    ("wire.request", "equal_target", "int"): "two hexadecimal digits that a regular expression found",
    ("server.http1.body", "_read_line", "int"): "a line that the parser has taken for the size of a chunk",
    ("core.operations.audiences", "_scalar", "float"): "a Decimal within the bound of its field",
    ("contract.text", "number", "float"): "what the JSON grammar takes for a number",
    ("contract.text", "number", "int"): "a whole number of at most 309 digits",
    ("core.operations.campaigns", "create_campaign", "int"): "a number that the schema has taken",
    ("report.pages", "link", "int"): "at most nine ASCII digits",
    ("report.pages", "render_file", "decode"): "base64",
    ("core.instants", "parse", "int"): "six digits that a regular expression found",
    ("core.ledger", "is_derived_name", "isdigit"): "chooses a pattern; no number is made",
    ("core.operations.messaging", "_limit", "int"): "at most four ASCII digits",
    ("core.operations.messaging", "_limit", "isdigit"): "together with isascii and a bound on the length",
    ("core.operations.messaging", "_read_cursor", "int"): "a cursor whose seal is the sandbox's own",
    ("core.operations.messaging", "_sign_cursor", "decode"): "base64",
    ("core.operations.messaging", "_sent", "int"): "an instant",
    ("core.webhooks.deliveries", "new_secret", "decode"): "base64",
    ("core.operations.campaigns", "send_rate", "int"): "a choice that was checked when it was given",
    ("core.faults.effects", "_chosen", "int"): "a ratio that the scenario's schema has taken",
    ("server.http1.framing", "_beginning", "int"): "at most fifteen ASCII digits",
    ("server.http1.request", "is_authority", "int"): "at most five ASCII digits",
    ("core.webhooks.url_policy", "_parsed", "int"): "an address",
    ("report.run.hints", "proxy", "urlsplit"): "a url of the mock's own",
    ("testing.report.snapshots", "_proxy_variable", "urlsplit"): "a url of the mock's own",
    ("server.http1.request", "_length", "int"): "a number that the parser has taken, below 2**64",
    ("server.webhooks.connections", "of_url", "urlsplit"): "after the url policy has accepted the url",
    ("wire.response", "explanation_header", "decode"): "ASCII, escaped just before",
    ("server.webhooks.local_receivers", "_by_wsgi", "int"): "`hand` takes whatever a receiver raises for its answer",
    ("server.webhooks.local_receivers", "_by_wsgi", "urlsplit"): "a url that core.targets has taken",
    ("server.webhooks.local_receivers", "json", "loads"): "called by the receiver, about a body of the mock's own",
    ("server.control.replay_document", "_body", "decode"): "decoded once already, by the line that did not fail",
    ("server.control.replay_document", "_exact_double", "float"): "what the JSON grammar takes for a number",
    ("server.control.replay_document", "_cut_body", "loads"): "written by json.dumps just before",
    ("wire.response", "json", "loads"): "called by a test, which expects the error",
    ("server.webhooks.signing", "_signature", "decode"): "a body of the mock's own",
    ("testing.transports.requests_adapter", "no_response_error", "urlsplit"): "a url that requests has prepared",
    ("testing.end_user", "over_socket", "urlsplit"): "a url of the mock's own",
    ("testing.remote", "_receiver_host", "urlsplit"): "a url that has been called",
    ("testing.transports.control_calls", "call", "urlsplit"): "a url that the server has returned",
    ("testing.transports.control_calls", "call", "decode"): "base64",
    ("server.control.calls", "send_call", "decode"): "base64",
    ("testing.remote", "send", "urlsplit"): "ValueError is for who gave the url",
    ("testing.arguments", "length_of_advance", "int"): "a float that is whole",
    ("testing.rules.builder", "fired", "int"): "a count of the mock's own",
    ("testing.rules.builder", "matched", "int"): "a count of the mock's own",
    ("testing.strategies.entities", "webhooks", "decode"): "base64",
    ("testing.strategies.audiences", "_instant", "fromisoformat"): "ValueError is for who gave the filter",
    ("testing.strategies.scripts", "durations", "int"): "a duration of the contract",
    ("testing.transports.httpx_transport", "_response", "decode"): "ASCII, as httpx encodes urls",
    ("testing.transports.in_process", "json", "loads"): "called by a test, which expects the error",
    ("testing.transports.requests_adapter", "send", "urlsplit"): "a url that requests has prepared",
    ("probe.transport", "__init__", "urlsplit"): "ValueError is for who gave the url",
    ("cli.settings", "_large_size", "float"): "digits of the grammar, at most eighteen",
    ("server.control.metrics", "read_metrics", "decode"): "a text of the library's own",
    ("server.control.metrics", "as_text", "float"): "a number of the mock's own",
    ("server.control.metrics", "families", "float"): "a count of the mock's own",
    ("server.hosting.host", "publish", "urlsplit"): "a url that the setting has taken",
    ("server.hosting.shard", "read_shard", "int"): "at most three ASCII digits",
    ("cli.docs", "scenario_schema", "loads"): "the package's own schema",
    ("cli.docs", "_seed_data", "loads"): "the package's own schema",
    ("contract.text", "printable", "decode"): "ASCII, escaped just before",
    ("core.operations.file_types", "archive", "decode"): "ASCII, checked just before",
    ("core.operations.file_types", "", "decode"): "a constant",
    ("core.instants", "_clock", "int"): "ASCII digits of the grammar, at most eighteen",
    ("core.instants", "_day", "int"): "at most four ASCII digits of the grammar",
    ("core.instants", "_offset", "int"): "two ASCII digits of the grammar",
    ("scenario.parsing", "_float", "float"): "a number by its grammar",
    ("core.state.matching", "value_at", "int"): "an index by its grammar",
    ("core.redaction", "_decoded", "int"): "two hexadecimal digits of the grammar",
    ("server.webhooks.local_receivers", "asgi_request", "urlsplit"): "a url that core.targets has taken",
    ("server.control.sandboxes", "_whole", "int"): "ASCII digits, as many as the bound lets in",
    ("server.control.sandboxes", "_whole", "isdigit"): "of ASCII text",
    ("server.hosted_page.request", "read", "urlsplit"): "a url of the mock's own, or of a Host that was checked",
    ("wire.formats", "_writable", "decode"): "encoded just before",
    ("server.webhooks.event_loops", "serves", "urlsplit"): "a url that core.targets has taken",
    ("scenario.documents", "place", "int"): "the place of a problem in a list, as the schema gave it",
    ("scenario.documents", "place", "isdecimal"): "as above",
    ("scenario.explaining", "_unknown_key", "isdigit"): "picks a name to show",
    ("scenario.explaining", "_parts", "isdigit"): "as above",
    ("scenario.parsing", "place", "int"): "the place of a problem in a list, as the schema gave it",
    ("scenario.parsing", "place", "isdecimal"): "as above",
    ("scenario.pruning", "_remove", "int"): "the place of a problem in a list, as the schema gave it",
    ("scenario.pruning", "_remove", "isdecimal"): "as above",
    ("scenario.pruning", "_place", "int"): "the place of a problem in a list, as the schema gave it",
    ("scenario.pruning", "_place", "isdecimal"): "as above",
    ("server.control.access", "check_origin", "urlsplit"): "an origin that has a host name",
    ("server.dashboard.handler", "respond", "urlsplit"): "a url of the mock's own, or of a Host that was checked",
    ("server.dashboard.handler", "unknown_page", "urlsplit"): "a url of the mock's own, or of a Host that was checked",
    ("server.dashboard.handler", "page_of_no_sandbox", "urlsplit"): "a url of the mock's own, or of a Host that was checked",
    ("server.dashboard.handler", "_way_back", "urlsplit"): "a url of the mock's own, or of a Host that was checked",
    ("server.socket_handler", "respond_with_stream", "decode"): "a text of the mock's own",
    ("scenario.seed_campaigns", "seed_campaigns", "int"): "a whole number, checked by the schema",
}  # fmt: skip


def readings(source: str) -> Iterator[tuple[str, str]]:
    """Each reading that is not caught: the function that contains it, and its name."""
    yield from _uncaught(ast.parse(source), "", [])


def _uncaught(node: ast.AST, function: str, caught: list[set[str]]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function, caught = node.name, []  # a function runs in another place than its definition
    if isinstance(node, ast.Call) and (name := _reading(node)) is not None:
        names = set().union(*caught)
        if not RAISES[name] or any(not names & one_of for one_of in RAISES[name]):
            yield function, name
    if isinstance(node, ast.Try):
        inside = [*caught, _names(node)]
        for guarded in node.body:
            yield from _uncaught(guarded, function, inside)
        for after in [*node.handlers, *node.orelse, *node.finalbody]:
            yield from _uncaught(after, function, caught)
        return
    for child in ast.iter_child_nodes(node):
        yield from _uncaught(child, function, caught)


def _names(node: ast.Try) -> set[str]:
    types = [each.type for each in node.handlers]
    flat = [one for each in types for one in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return {
        one.id if isinstance(one, ast.Name) else one.attr for one in flat if isinstance(one, ast.Name | ast.Attribute)
    }


def _reading(call: ast.Call) -> str | None:
    """The name of a reading of text; None for other calls, for constants, and for decodings that cannot fail."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name not in RAISES or (
        name == "loads" and getattr(getattr(call.func, "value", None), "id", "") not in ("json", "jsonlib")
    ):
        return None
    if name in ("int", "float"):
        return None if not call.args or isinstance(call.args[0], ast.Constant) else name
    if name == "decode":
        words = [
            each.value
            for each in (*call.args, *(each.value for each in call.keywords))
            if isinstance(each, ast.Constant)
        ]
        return None if "latin-1" in words or len(words) > 1 else name
    return name


CAUGHT = """
def a(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return int(3)
def b(body):
    return body.decode("latin-1"), body.decode("utf-8", "replace"), body.decode(errors="replace", encoding="ascii")
def c(text):
    with suppress(KeyError):
        try:
            return urlsplit(text).port, float(text)
        except Exception:
            pass
"""
UNCAUGHT = """
def a(text):
    try:
        json.loads(text)
    except ValueError:
        int(text)
def b(body):
    return body.decode(), body.isdigit()
try:
    def c(text):
        return urlsplit(text)
except ValueError:
    pass
"""


def test_the_source_checker_recognises_caught_exceptions() -> None:
    assert [] == list(readings(CAUGHT))
    assert [("a", "loads"), ("a", "int"), ("b", "decode"), ("b", "isdigit"), ("c", "urlsplit")] == list(
        readings(UNCAUGHT)
    )


@cache
def found() -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (".".join(file.relative_to(PACKAGE).with_suffix("").parts), *reading)
        for file in sorted(PACKAGE.rglob("*.py"))
        for reading in readings(file.read_text(encoding="utf-8"))
    )


def test_every_reading_of_text_from_outside_is_caught_or_safe() -> None:
    assert [] == sorted(found() - SAFE.keys())


def test_every_safe_reading_is_one_that_the_package_has() -> None:
    assert [] == sorted(SAFE.keys() - found())
