"""
Hypothesis strategies for what a client under test may send, meet and live through.

They hold under the default choices, and are biased to boundaries: the values at which something changes are drawn often.
"""

# An example is timed: what a sandbox loads when it is first used would count against the deadline of the first one.
import jsonschema_rs  # noqa: F401

import mockserver.edge.app
import mockserver.edge.server
import mockserver.testing.sandbox  # noqa: F401
from mockserver.testing.strategies.audiences import filters, filters_with_audience, invalid_filters
from mockserver.testing.strategies.bodies import GIVEN, Invalid, bodies, invalid_bodies
from mockserver.testing.strategies.chatting import chats
from mockserver.testing.strategies.entities import given, templates, tenants, webhooks
from mockserver.testing.strategies.evaluating import audience
from mockserver.testing.strategies.options import choices, scripts
from mockserver.testing.strategies.timelines import spans, timelines

__all__ = [
    "GIVEN",
    "Invalid",
    "audience",
    "bodies",
    "chats",
    "choices",
    "filters",
    "filters_with_audience",
    "given",
    "invalid_bodies",
    "invalid_filters",
    "scripts",
    "spans",
    "templates",
    "tenants",
    "timelines",
    "webhooks",
]
