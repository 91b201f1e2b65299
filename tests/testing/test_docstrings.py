"""The docstrings of the Python interface: every public member has one, and their examples run."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

from mockserver import MockServer, Sandbox, SandboxTestCase
from mockserver.contract.effects.deliveries import DeliveryMethods
from mockserver.contract.effects.model import EffectMethods
from mockserver.contract.effects.state import StateMethods
from mockserver.contract.effects.wire import WireMethods
from mockserver.report.run.exchanges import Exchange
from mockserver.testing.call_log import CallLog
from mockserver.testing.calls import CallMismatch, Calls
from mockserver.testing.conduct import ConductReport, Ledger
from mockserver.testing.end_user import EndUser, Page
from mockserver.testing.receivers import Receiver
from mockserver.testing.remote import RemoteServer
from mockserver.testing.rules.builder import ActiveRule, RuleBuilder
from mockserver.testing.settings import Layer, Settings
from mockserver.testing.transports.in_process import Response
from tests.harness.rows import each_row

PUBLIC = (
    MockServer, RemoteServer, Sandbox, SandboxTestCase, CallLog, Calls, Exchange, CallMismatch, RuleBuilder, ActiveRule, EffectMethods,
    WireMethods, StateMethods, DeliveryMethods, Ledger, ConductReport, Receiver, EndUser, Page, Layer, Settings, Response,
)  # fmt: skip
EXAMPLES = [
    test
    for kind in PUBLIC
    for test in doctest.DocTestFinder(recurse=True).find(kind, kind.__qualname__, globs={})
    if test.examples
]


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public functions and properties that a class defines itself."""
    for name, value in vars(kind).items():
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
            yield name, value


def parameters(function: Any) -> list[str]:
    """The parameters of a function by the names that `Args:` has for them."""
    stars: dict[object, str] = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    rows = list(inspect.signature(function).parameters.values())[1:]
    return [f"{stars.get(row.kind, '')}{row.name}" for row in rows]


def undocumented(kind: type) -> list[str]:
    """The members without a docstring, and their parameters that `Args:` does not have."""
    missing = []
    for name, member in members(kind):
        doc = inspect.getdoc(member) or ""
        if not doc:
            missing.append(name)
        elif inspect.isfunction(member) and "async form of" not in doc and "(see `" not in doc:
            missing += [f"{name}({row})" for row in parameters(member) if f"    {row}: " not in doc.replace("\\", "")]
    return missing


def test_every_public_member_and_parameter_is_documented() -> None:
    assert {} == {kind.__name__: missing for kind in PUBLIC if (missing := undocumented(kind))}


def test_each_member_of_a_tenant_of_the_state_is_documented(mockserver: Sandbox) -> None:
    documented = inspect.getdoc(Sandbox.state) or ""

    assert [] == [name for name in mockserver.state()["tenants"][0] if f"`{name}`" not in documented]


@each_row("example", EXAMPLES)
def test_an_example_runs(example: doctest.DocTest, mockserver_server: MockServer) -> None:
    with mockserver_server.sandbox("demo") as sandbox:
        sandbox.is_repeated = True  # an example shows a rule without the call at which it fires
        example.globs = {
            "sandbox": sandbox,
            "server": mockserver_server,
            "MockServer": MockServer,
            "SandboxTestCase": SandboxTestCase,
        }
        output: list[str] = []
        result = doctest.DocTestRunner(verbose=False).run(example, out=output.append)

    assert (0, "") == (result.failed, "".join(output))
