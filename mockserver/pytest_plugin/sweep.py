"""
Sweeps in pytest: over named choices by parametrization, over the choices that a test reads by repeated runs.

The plugin imports this module for the first test that is marked `mockserver_sweep`.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol

from mockserver.testing.sweep import TOUCHED, Case, cases, others

CASE: pytest.StashKey[Case] = pytest.StashKey()
NODEID: pytest.StashKey[str] = pytest.StashKey()
CHOICES_READ: pytest.StashKey[set[str]] = pytest.StashKey()


def parametrize(metafunc: pytest.Metafunc, names: list[str]) -> None:
    """Parametrize `mockserver_option` by the cases of a sweep over named choices."""
    fixture = "mockserver" if TOUCHED in names else "mockserver_option"
    if fixture not in metafunc.fixturenames:
        fixtures = " or ".join(dict.fromkeys(("mockserver", fixture)))
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: this sweep needs the fixture {fixtures}")
    invalid = next((name for name in names if not isinstance(name, str)), None)
    if invalid is not None:
        message = f"sweep: got {invalid!r}; expected names as separate arguments, not in a list"
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {message}")
    try:
        swept = cases([name for name in names if name != TOUCHED])
    except ValueError as refusal:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {refusal}") from None
    if TOUCHED not in names:
        metafunc.parametrize("mockserver_option", swept, ids=[case.id for case in swept], indirect=True)


def run_touched(item: pytest.Item, nextitem: pytest.Item | None, names: list[str]) -> bool | None:
    """Run a test of a sweep over what it touches: once to record its choices, then once for each other option."""
    if TOUCHED not in names or not isinstance(item, pytest.Function) or CASE in item.stash:
        return None
    item.stash[CHOICES_READ] = read = set[str]()
    _run(item, _clone_item(item, None))  # its module is not torn down, since its clones follow
    named = {case.choice for case in cases([name for name in names if name != TOUCHED])}
    clones = [_clone_item(item, case) for case in others(read | named)]
    if not clones:
        _tear_down(item, nextitem)
    for clone, following in zip(clones, [*clones[1:], nextitem], strict=False):
        if item.session.shouldfail or item.session.shouldstop:
            break
        _run(clone, following)
    return True


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    nodeid = item.stash.get(NODEID, item.nodeid)
    item.ihook.pytest_runtest_logstart(nodeid=nodeid, location=item.location)
    runtestprotocol(item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=nodeid, location=item.location)


def _tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Tear down the module or class if no further case follows; a failure then is an error of the test."""
    # Not by the hook: other plugins have dropped their state for this test's teardown by now.
    call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
    if call.excinfo is not None:
        item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=call))


def _clone_item(item: pytest.Function, case: Case | None) -> pytest.Function:
    """Return the same test under one other option, with a test instance of its own."""
    clone: pytest.Function = type(item).from_parent(
        item.parent,
        name=_with_option(item.name, case),
        originalname=item.originalname,
        callspec=getattr(item, "callspec", None),
        fixtureinfo=item._fixtureinfo,
    )
    clone.own_markers[:] = item.own_markers  # also those that a conftest has added
    # xdist accepts reports of collected tests only, so there a clone reports under its original's id; its name stays.
    clone.stash[NODEID] = item.nodeid if hasattr(item.config, "workerinput") else _with_option(item.nodeid, case)
    if case is not None:
        clone.stash[CASE] = case
    return clone


def _with_option(name: str, case: Case | None) -> str:
    label = case.id if case else "touched"
    return f"{name[:-1]}-{label}]" if name.endswith("]") else f"{name}[{label}]"


def add_option_section(item: pytest.Item, report: pytest.TestReport) -> None:
    """Add a section about the option of a failing run: the option, its default and the clause."""
    report.nodeid = item.stash.get(NODEID, report.nodeid)
    if report.when == "call" and report.failed and CASE in item.stash:
        report.sections.append(("mockserver", item.stash[CASE].explained()))


def option(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the choices of this run, and store its case in the item."""
    case: Case | None = getattr(request, "param", None) or request.node.stash.get(CASE, None)
    if case is None:
        return {}
    request.node.stash[CASE] = case
    return {case.choice: case.option}
