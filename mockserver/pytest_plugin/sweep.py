"""
Sweeps in pytest: over named choices by parametrization, over the choices that a test reads by repeated runs.

1. The plugin imports this module for the first test that is marked `mockserver_sweep`.
2. The runs of a sweep over all choices are items that no collection has: clones of the test, each with the id of its option.
3. xdist accepts reports of collected tests only: a worker reports a clone under the id of its test.
4. A failure is compared with the run under the default, if that was before it in the same process: only what the default
   does not share is explained by the option.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from mockserver._commands import command_line
from mockserver.pytest_plugin.clones import clone_item, is_unittest
from mockserver.testing.report.failures import place_of
from mockserver.testing.sweep import ALL, Case, cases, others

MARK = "mockserver_sweep"
CASE: pytest.StashKey[Case] = pytest.StashKey()
CHOICES_READ: pytest.StashKey[set[str]] = pytest.StashKey()
# Those in force when the first run of a sweep over all choices begins: a mark or a profile may set another option.
CHOICES_AT_FIRST: pytest.StashKey[Mapping[str, object]] = pytest.StashKey()
_FIRST_RUN: pytest.StashKey[str] = pytest.StashKey()  # the id of the first run, in stashes of the further ones
_REPORTED_AS: pytest.StashKey[str] = pytest.StashKey()
_IS_RUN: pytest.StashKey[bool] = pytest.StashKey()
_FIXTURE = "mockserver_sweep_choices"
_NEIGHBOURS: pytest.StashKey[dict[str, _Neighbour]] = pytest.StashKey()  # by id
_USAGE = 'takes names of choices, of families, or \'all\', such as ("dual-status", "sessions")'


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """A run under defaults: how it and its subtests failed, and the choices in force if a mark may have set others."""

    failures: tuple[str, ...]
    choices: Mapping[str, object]


def problem(node: pytest.Item, fixtures: Collection[str]) -> str | None:
    """Return the error message for the marks of a test, with the nearest name, or None."""
    marks = list(node.iter_markers(MARK))
    if any(not mark.args or mark.kwargs for mark in marks):
        return f"@pytest.mark.{MARK} {_USAGE}"
    if is_unittest(node):
        return (
            "sweep: got a method of unittest.TestCase, which pytest cannot run under other options; expected a function"
        )
    names = _names(node)
    needed = ("mockserver",) if ALL in names else ("mockserver", _FIXTURE)
    if not set(needed) & set(fixtures):
        return f"this sweep needs the fixture {' or '.join(needed)}"
    invalid = next((name for name in names if not isinstance(name, str)), None)
    if invalid is not None:
        return f"sweep: got {invalid!r}; expected names as separate arguments, not in a list"
    try:
        cases([name for name in names if name != ALL])
    except ValueError as refusal:
        return str(refusal)
    return None


def check_mark(item: pytest.Item) -> None:
    """Fail a test with a wrong mark."""
    message = problem(item, getattr(item, "fixturenames", ()))
    parameters = getattr(getattr(item, "callspec", None), "params", ())
    is_late = ALL not in _names(item) and _FIXTURE not in parameters
    if message is None and is_late:
        expected = "expected it at the test, its class or its module"
        message = f"got @pytest.mark.{MARK} after the collection of the test; {expected}"
    if message is not None:
        pytest.fail(message, pytrace=False)


def _names(node: pytest.Item) -> list[Any]:
    return [name for mark in node.iter_markers(MARK) for name in mark.args]


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Parametrize `mockserver_sweep_choices` by the cases of a sweep over named choices; a wrong mark fails its test later."""
    names = _names(metafunc.definition)
    if ALL in names or problem(metafunc.definition, metafunc.fixturenames) is not None:
        return
    swept = cases(names)
    if _FIXTURE not in metafunc.fixturenames:
        metafunc.fixturenames.append(_FIXTURE)  # `mockserver` gets its value in a swept test only
    metafunc.parametrize(_FIXTURE, swept, ids=[case.id for case in swept], indirect=True)


def run_over_choices_read(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test of a sweep over the choices that it reads: once to record its choices, then once for each other option."""
    if not _is_over_choices_read(item) or CASE in item.stash or _IS_RUN in item.stash:
        return None
    assert isinstance(item, pytest.Function)
    item.stash[CHOICES_READ] = read = set[str]()
    _run(item, _clone_item(item, None))  # its module is not torn down, since its clones follow
    clones = _clones(item, read)
    if not clones:
        # Tear down the module or class, not by the hook: other plugins have dropped their state for this teardown by now.
        call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
        if call.excinfo is not None:  # an error of the test
            item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=call))
    if not hasattr(item.config, "workerinput"):
        item.session.testscollected += len(clones)  # so that the progress ends at 100 %
    for clone, following in zip(clones, [*clones[1:], nextitem], strict=False):
        if item.session.shouldfail or item.session.shouldstop:
            break
        clone.stash[_REPORTED_AS] = item.nodeid
        _run(clone, following)
    return True


def _clones(item: pytest.Function, read: set[str]) -> list[pytest.Function]:
    """Return a run for each other option of the choices that were read or that a mark names."""
    named = {case.choice for case in cases([name for name in _names(item) if name != ALL])}
    return [_clone_item(item, case) for case in others(read | named)]


def _is_over_choices_read(item: pytest.Item) -> bool:
    return ALL in _names(item) and isinstance(item, pytest.Function) and problem(item, item.fixturenames) is None


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run one item by the hook, so that plugins that repeat or time a test apply to it."""
    item.stash[_IS_RUN] = True
    try:
        item.ihook.pytest_runtest_protocol(item=item, nextitem=nextitem)
    finally:
        del item.stash[_IS_RUN]


def _clone_item(item: pytest.Function, case: Case | None) -> pytest.Function:
    """Return the same test under one other option."""
    clone = clone_item(item, _with_option(item.name, case), _with_option(item.nodeid, case))
    if case is not None:
        clone.stash[CASE] = case
        clone.stash[_FIRST_RUN] = item.nodeid
    return clone


def _with_option(name: str, case: Case | None) -> str:
    label = case.id if case else ALL
    return f"{name[:-1]}-{label}]" if name.endswith("]") else f"{name}[{label}]"


def add_option_section(item: pytest.Item, report: pytest.TestReport, raised: BaseException | None) -> None:
    """Add a section about the option of a failing run, after a comparison with the run under the default."""
    if _REPORTED_AS in item.stash and hasattr(item.config, "workerinput"):
        report.nodeid = item.stash[_REPORTED_AS]
    failure = _failure(report, raised)
    case = item.stash.get(CASE, None)
    if case is None or case.is_default:
        _keep_as_neighbour(item, report, raised, failure)
    if report.when == "call" and failure is not None and report.failed and case is not None:
        text = case.explained(failure, _failures_of_default(item, case), _run_default(item, case))
        report.sections.append(("mockserver", text))


def _failure(report: pytest.TestReport, raised: BaseException | None) -> str | None:
    """Return how a phase of a test failed, in the same words for runs that fail alike; None for one that passed or was skipped."""
    if isinstance(raised, pytest.skip.Exception):
        return None
    if raised is None:  # a failure only for xfail(strict=True), if the test passes
        return str(report.longrepr) if report.failed else None
    kind, place = type(raised).__name__, place_of(raised)
    first_line, _, _ = str(raised).partition("\n")
    return f"{kind} at {place}" if place else f"{kind}: {first_line}"


def _keep_as_neighbour(
    item: pytest.Item, report: pytest.TestReport, raised: BaseException | None, failure: str | None
) -> None:
    """Keep how a run under the default ended, with its subtests, for the runs under other options."""
    neighbours = item.config.stash.setdefault(_NEIGHBOURS, {})
    if report.when == "setup":
        neighbours.pop(item.nodeid, None)  # of an earlier try
    is_passed_setup = report.when == "setup" and failure is None
    if report.when == "teardown" or is_passed_setup or isinstance(raised, pytest.skip.Exception):
        return
    former = neighbours.get(item.nodeid, _Neighbour((), item.stash.get(CHOICES_AT_FIRST, {})))
    own = () if failure is None else (failure,)
    neighbours[item.nodeid] = replace(former, failures=(*former.failures, *own))


def _failures_of_default(item: pytest.Item, case: Case) -> Sequence[str] | None:
    """Return how the test failed under the default of the choice; None if this process has not run it."""
    nodeid = item.stash.get(_FIRST_RUN, None) or _id_of_default(item, case)
    neighbour = item.config.stash.get(_NEIGHBOURS, {}).get(nodeid)
    default = case.default().option
    if neighbour is None or neighbour.choices.get(case.choice, default) != default:
        return None
    return neighbour.failures


def _run_default(item: pytest.Item, case: Case) -> str:
    """Return the line that runs the test under the default; of a sweep over all choices no id stands for that."""
    if _FIRST_RUN in item.stash:
        return case.default().mark
    return command_line(["pytest", _id_of_default(item, case)])


def _id_of_default(item: pytest.Item, case: Case) -> str:
    before, _, after = item.nodeid.rpartition(case.id)
    return f"{before}{case.default().id}{after}"


def option(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the choices of this run, and store its case in the item."""
    case: Case | None = getattr(request, "param", None) or request.node.stash.get(CASE, None)
    if case is None:
        return {}
    request.node.stash[CASE] = case
    return {case.choice: case.option}
