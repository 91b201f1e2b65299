"""
The pytest plugin: a fresh sandbox per test, the server behind it, and sweeps over the document's open points.

Nothing heavy is imported before a fixture is asked for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from mockserver.testing.conduct_plugin import NAME, ConductPlugin, pytest_addoption  # noqa: F401 - a hook

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer
    from mockserver.testing.sweep import Case, Witness

_MARKERS = (
    "mockserver(*, scenario, profile, choices, now, clock, seed, given, conduct): how this test's sandbox is made.",
    "mockserver_sweep(*names): run the test once for each option of these choices or families, or of those 'touched'.",
)
_SETTINGS = ("scenario", "profile", "choices", "now", "clock", "seed", "given", "conduct")
_CASE: pytest.StashKey[Case] = pytest.StashKey()
_NODEID: pytest.StashKey[str] = pytest.StashKey()
_WITNESS: pytest.StashKey[Witness] = pytest.StashKey()
_SERVER: pytest.StashKey[MockServer] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(ConductPlugin(config), NAME)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A misspelt setting fails the run before any test has run, with the nearest name."""
    for item in items:
        for marker in item.iter_markers("mockserver"):
            _check(item, marker)


def _check(item: pytest.Item, marker: pytest.Mark) -> None:
    if marker.args:
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.mockserver takes keywords only; it was given {marker.args!r}"
        )
    for name, value in marker.kwargs.items():
        if name not in _SETTINGS:
            hint = f"{_hint(name, _SETTINGS)}; it has {', '.join(_SETTINGS)}"
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.mockserver has no {name!r}{hint}")
        if name == "choices":
            _check_choices(item, value)
        if name == "scenario" and isinstance(value, str):
            _check_scenario(item, value)
        if name == "profile" and value is not None:
            _check_profile(item, value)


def _check_choices(item: pytest.Item, chosen: Any) -> None:
    from mockserver.contract.choices import problem

    for choice_id, value in chosen.items():
        wrong = problem(choice_id, value)
        if wrong:
            raise pytest.UsageError(f"{item.nodeid}: {wrong}")


def _check_scenario(item: pytest.Item, name: str) -> None:
    from mockserver.scenario.library import paths

    if name not in paths():
        raise pytest.UsageError(f"{item.nodeid}: no scenario is called {name!r}{_hint(name, paths())}")


def _check_profile(item: pytest.Item, profile: Any) -> None:
    from mockserver.scenario.profiles import choices_of

    try:
        choices_of(profile)
    except ValueError as refusal:
        raise pytest.UsageError(f"{item.nodeid}: {refusal}") from None


def _hint(found: str, known: Any) -> str:
    close = get_close_matches(found, list(known), n=1, cutoff=0.5)
    return f"; the nearest is {close[0]!r}" if close else ""


@pytest.hookimpl(trylast=True)  # so that the test's own parameters come first in its ids
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A sweep over named choices is a parametrization of `mockserver_option`, with ids that read well."""
    names = _swept(metafunc.definition)
    if not names:
        return
    from mockserver.testing.sweep import TOUCHED, cases

    fixture = "mockserver" if TOUCHED in names else "mockserver_option"
    if fixture not in metafunc.fixturenames:
        wanted = " or ".join(dict.fromkeys(("mockserver", fixture)))
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: this sweep needs the fixture {wanted}")
    try:
        swept = cases([name for name in names if name != TOUCHED])
    except ValueError as refusal:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {refusal}") from None
    if TOUCHED not in names:
        metafunc.parametrize("mockserver_option", swept, ids=[case.id for case in swept], indirect=True)


def _swept(item: pytest.Item) -> list[str]:
    return [name for marker in item.iter_markers("mockserver_sweep") for name in marker.args]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A sweep over what the test touches runs it once to learn that, then once for each other option."""
    names = _swept(item)
    if "touched" not in names or not isinstance(item, pytest.Function) or _CASE in item.stash:
        return None
    from mockserver.testing.sweep import TOUCHED, Witness, cases, others

    item.stash[_WITNESS] = witness = Witness()
    _run(item, _twin(item, None))  # torn down as a test whose neighbour comes next, since its twins do
    named = {case.choice for case in cases([name for name in names if name != TOUCHED])}
    twins = [_twin(item, case) for case in others(witness.read | named)]
    if not twins:
        _tear_down(item, nextitem)
    for twin, following in zip(twins, [*twins[1:], nextitem], strict=False):
        if item.session.shouldfail or item.session.shouldstop:
            break
        _run(twin, following)
    return True


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    nodeid = item.stash.get(_NODEID, item.nodeid)
    item.ihook.pytest_runtest_logstart(nodeid=nodeid, location=item.location)
    runtestprotocol(item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=nodeid, location=item.location)


def _tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Leave the module or class after all, where no twin came; what fails then is an error of the test."""
    # Not by the hook: other plugins have put away by now what they keep for this test's teardown.
    call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
    if call.excinfo is not None:
        item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=call))


def _twin(item: pytest.Function, case: Case | None) -> pytest.Function:
    """The same test under one other option, with a test instance of its own."""
    twin: pytest.Function = type(item).from_parent(
        item.parent,
        name=_with_option(item.name, case),
        originalname=item.originalname,
        callspec=getattr(item, "callspec", None),
        fixtureinfo=item._fixtureinfo,
    )
    twin.own_markers[:] = item.own_markers  # also those that a conftest has added
    # xdist takes reports of collected tests alone, so there a twin reports under its original's id; its name stays.
    twin.stash[_NODEID] = item.nodeid if hasattr(item.config, "workerinput") else _with_option(item.nodeid, case)
    if case is not None:
        twin.stash[_CASE] = case
    return twin


def _with_option(name: str, case: Case | None) -> str:
    said = case.id if case else "touched"
    return f"{name[:-1]}-{said}]" if name.endswith("]") else f"{name}[{said}]"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test answers for its own sandboxes alone."""
    if _SERVER in item.config.stash:
        item.config.stash[_SERVER].made.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A rule that had to fire and has not, fails the test that passed otherwise."""
    result = yield
    idle = [rule for rule in _unfired(item.config) if rule.get("mustFire")]
    if idle:
        from mockserver.testing.reporting import unfired

        pytest.fail("\n".join(["a rule that must fire never fired:", *unfired(idle)]), pytrace=False)
    return result


def _unfired(config: pytest.Config) -> list[dict[str, Any]]:
    """The rules of this test's sandboxes that never fired."""
    if _SERVER not in config.stash:
        return []
    return [rule for sandbox in config.stash[_SERVER].made for rule in sandbox.rules if not rule["fired"]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A failure under a swept option names the option, its default and the clause."""
    report = yield
    report.nodeid = item.stash.get(_NODEID, report.nodeid)
    if report.when == "call" and report.failed and _CASE in item.stash:
        report.sections.append(("mockserver", item.stash[_CASE].explained()))
    if report.when == "call" and report.failed and (idle := _unfired(item.config)):
        from mockserver.testing.reporting import unfired

        report.sections.append(("mockserver: rules that never fired", "\n".join(unfired(idle))))
    return report


@pytest.fixture(scope="session")
def mockserver_server(pytestconfig: pytest.Config) -> Iterator[MockServer]:
    """The session's server; `mockserver_server.sandbox(...)` is a context manager, for use with `@given`."""
    from mockserver.testing.server import MockServer

    server = pytestconfig.stash[_SERVER] = MockServer()
    yield server
    server.close()


@pytest.fixture
def mockserver_option(request: pytest.FixtureRequest) -> dict[str, str]:
    """The choices of this run of a sweep, for `mockserver_server.sandbox(choices=...)`; none outside a sweep."""
    case: Case | None = getattr(request, "param", None) or request.node.stash.get(_CASE, None)
    if case is None:
        return {}
    request.node.stash[_CASE] = case
    return {case.choice: case.option}


@pytest.fixture
def mockserver(
    request: pytest.FixtureRequest, mockserver_server: MockServer, mockserver_option: dict[str, str]
) -> Iterator[Sandbox]:
    """A sandbox of this test's own, its clock frozen at the present; `@pytest.mark.mockserver(...)` says how it is made."""
    settings: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("mockserver"))):  # the closest mark has the last word
        settings |= {name: value for name, value in marker.kwargs.items() if name != "conduct"}
    if mockserver_option:
        settings["choices"] = {**settings.get("choices", {}), **mockserver_option}
    with mockserver_server.sandbox(**settings) as sandbox:
        if _WITNESS in request.node.stash:
            sandbox.watch_choices(request.node.stash[_WITNESS])
        yield sandbox
