"""
Hypothesis strategies of request bodies, filters, choices and lengths of time.

Their values are valid under the default choices, and are biased to boundaries: the values at which the
result changes are drawn often.
"""

# Imported here, since Hypothesis times examples: imports at the first use of a sandbox would exceed the first deadline.
import jsonschema_rs  # noqa: F401

from mockserver.scenario import explaining as _explaining  # noqa: F401
from mockserver.server import socket_handler as _handler  # noqa: F401
from mockserver.server.http1 import server as _server  # noqa: F401
from mockserver.testing import sandbox as _sandbox  # noqa: F401
from mockserver.testing.strategies.bodies import GIVEN, bodies
from mockserver.testing.strategies.filters import filters
from mockserver.testing.strategies.settings import choices, durations

__all__ = [
    "GIVEN",
    "bodies",
    "choices",
    "durations",
    "filters",
]
