"""
Writes the public interface to `docs/reference`: `python -m tests.public_interface`, at each release.

It writes nothing if a name is gone or has another meaning that the last release did not deprecate.
"""

from __future__ import annotations

import sys

from tests.public_interface import baseline
from tests.public_interface.comparison import breaks


def main() -> int:
    current = baseline.current()
    problems = breaks(baseline.committed(), current)
    if problems:
        print(*problems, "nothing was written", sep="\n", file=sys.stderr)
        return 1
    baseline.write(current)
    print(f"wrote {len(current.names)} lines to {baseline.NAMES.name} and {baseline.STUB.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
