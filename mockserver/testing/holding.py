"""What every part of the Python face holds: the hosted sandbox, and a way to run a command on it."""

from __future__ import annotations

from typing import Any

from mockserver.edge import control
from mockserver.edge.hosting import Hosted
from mockserver.edge.refusals import ControlError
from mockserver.scenario.documents import ScenarioError

JSON = dict[str, Any]


class Holding:
    """A sandbox in somebody's hands; what it can do stands in the classes that build on this one."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted

    def _command(self, command: Any, **arguments: Any) -> JSON:
        """Run a command as the control plane does; what it refuses is a ValueError that says how to mend the call."""
        __tracebackhide__ = True
        try:
            answer: JSON = control.run(self._hosted, command, arguments)
        except ControlError as refusal:
            if refusal.problems and refusal.code == "MOCK_BAD_SCENARIO":
                raise ScenarioError(refusal.problems) from None
            raise ValueError(refusal.message) from None
        return answer
