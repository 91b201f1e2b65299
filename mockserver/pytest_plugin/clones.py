"""Clones of a collected test, for further runs of it that no collection has."""

from __future__ import annotations

import unittest

import pytest


def is_unittest(item: pytest.Item) -> bool:
    """Return True for a method of a `unittest.TestCase`, which cannot be cloned: its name is that of the method."""
    own_class = getattr(item, "cls", None)
    return own_class is not None and issubclass(own_class, unittest.TestCase)


def clone_item(item: pytest.Function, name: str, nodeid: str) -> pytest.Function:
    """
    Return the same test as another item, with a test instance and fixtures of function scope of its own.

    Args:
        item: A collected function or method.
        name: The name of the clone.
        nodeid: The id of the clone.
    """
    clone: pytest.Function = type(item).from_parent(
        item.parent,
        name=name,
        originalname=item.originalname,
        callspec=getattr(item, "callspec", None),
        fixtureinfo=item._fixtureinfo,
    )
    clone.own_markers[:] = item.own_markers  # also those that a conftest has added
    # pytest derives the id from the name, later releases from the parameters alone.
    if hasattr(clone, "_id"):
        from _pytest.nodeid import NodeId

        clone._id = NodeId.parse(nodeid)
    else:
        clone._nodeid = nodeid  # type: ignore[attr-defined]  # of earlier releases
    return clone
