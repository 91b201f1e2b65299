"""
Writing a scenario document for people and for machines: JSON, which YAML 1.2 reads too, laid out in lines.

A block layout of YAML reads no better once answers stand in it, and takes some hundred times as long to write and to read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BY_LINES = ("script", "calls")  # lists of which each entry is a line of its own
_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # what YAML does not take as it is


def text(document: Mapping[str, Any]) -> str:
    """The document with a line for each key, and one for each rule of its script and each of its calls."""
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_value(key, value)}" for key, value in document.items()) + "\n}\n"


def _value(key: str, value: Any) -> str:
    if key not in _BY_LINES or not value:
        return _spelt(value)
    return "[\n" + ",\n".join(f"    {_spelt(each)}" for each in value) + "\n  ]"


def _spelt(value: Any) -> str:
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
