"""Names that were made of other names: `Natal (2)`, `natal - retry` and `Copy of Natal` of `Natal`, but not `Week 12` of `Week 1`."""

from __future__ import annotations

import re


def is_made_of(name: str, original: str) -> bool:
    """True where the name is the original's with something set before or behind it; a longer word or number is another."""
    end = r"(?![^\W_])" if original[-1:].isdigit() else r"(?![^\W\d_])"
    return re.search(rf"(?<![^\W_]){re.escape(original.casefold())}{end}", name.casefold()) is not None
