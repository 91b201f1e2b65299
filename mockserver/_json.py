"""The type of a JSON object, for signatures."""

from typing import Any

JSON = dict[str, Any]
