"""
How pytest runs a sweep: over named choices by parametrization, over what a test touches by running it again.

The plugin asks for this module once a test is marked `mockserver_sweep`.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol

from mockserver.testing.sweep import TOUCHED, Case, cases, others

CASE: pytest.StashKey[Case] = pytest.StashKey()
NODEID: pytest.StashKey[str] = pytest.StashKey()
CHOICES_READ: pytest.StashKey[set[str]] = pytest.StashKey()


def parametrize(metafunc: pytest.Metafunc, names: list[str]) -> None:
    """A sweep over named choices is a parametrization of `mockserver_option`, with ids that read well."""
    fixture = "mockserver" if TOUCHED in names else "mockserver_option"
    if fixture not in metafunc.fixturenames:
        wanted = " or ".join(dict.fromkeys(("mockserver", fixture)))
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: this sweep needs the fixture {wanted}")
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        message = f"sweep: got {odd!r}; expected names as separate arguments, not in a list"
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {message}")
    try:
        swept = cases([name for name in names if name != TOUCHED])
    except ValueError as refusal:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {refusal}") from None
    if TOUCHED not in names:
        metafunc.parametrize("mockserver_option", swept, ids=[case.id for case in swept], indirect=True)


def run_touched(item: pytest.Item, nextitem: pytest.Item | None, names: list[str]) -> bool | None:
    """A sweep over what the test touches runs it once to learn that, then once for each other option."""
    if TOUCHED not in names or not isinstance(item, pytest.Function) or CASE in item.stash:
        return None
    item.stash[CHOICES_READ] = read = set[str]()
    _run(item, _clone_item(item, None))  # torn down as a test whose neighbour comes next, since its twins do
    named = {case.choice for case in cases([name for name in names if name != TOUCHED])}
    twins = [_clone_item(item, case) for case in others(read | named)]
    if not twins:
        _tear_down(item, nextitem)
    for twin, following in zip(twins, [*twins[1:], nextitem], strict=False):
        if item.session.shouldfail or item.session.shouldstop:
            break
        _run(twin, following)
    return True


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    nodeid = item.stash.get(NODEID, item.nodeid)
    item.ihook.pytest_runtest_logstart(nodeid=nodeid, location=item.location)
    runtestprotocol(item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=nodeid, location=item.location)


def _tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Tear down the module or class if no further case follows; a failure then is an error of the test."""
    # Not by the hook: other plugins have put away by now what they keep for this test's teardown.
    call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
    if call.excinfo is not None:
        item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=call))


def _clone_item(item: pytest.Function, case: Case | None) -> pytest.Function:
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
    twin.stash[NODEID] = item.nodeid if hasattr(item.config, "workerinput") else _with_option(item.nodeid, case)
    if case is not None:
        twin.stash[CASE] = case
    return twin


def _with_option(name: str, case: Case | None) -> str:
    said = case.id if case else "touched"
    return f"{name[:-1]}-{said}]" if name.endswith("]") else f"{name}[{said}]"


def add_option_section(item: pytest.Item, report: pytest.TestReport) -> None:
    """A failure under a swept option names the option, its default and the clause."""
    report.nodeid = item.stash.get(NODEID, report.nodeid)
    if report.when == "call" and report.failed and CASE in item.stash:
        report.sections.append(("mockserver", item.stash[CASE].explained()))


def option(request: pytest.FixtureRequest) -> dict[str, str]:
    """The choices of this run, which its item remembers."""
    case: Case | None = getattr(request, "param", None) or request.node.stash.get(CASE, None)
    if case is None:
        return {}
    request.node.stash[CASE] = case
    return {case.choice: case.option}
