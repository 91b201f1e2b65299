"""
Writes the public interface to `docs/reference`: `python -m tests.public_interface`.

It writes nothing if a name of a release is gone or has another meaning, unless the version permits that.
"""

from __future__ import annotations

import sys

from tests.public_interface import baseline
from tests.public_interface.comparison import breaks, may_break


def main() -> int:
    committed, current = baseline.committed(), baseline.current()
    problems = breaks(committed, current)
    if problems and baseline.is_released(committed.version) and not may_break(committed.version, current.version):
        cure = f"nothing was written: {committed.version} has these names, see docs/stability.md"
        print(*problems, cure, sep="\n", file=sys.stderr)
        return 1
    baseline.write(current)
    print(*problems, sep="\n")
    print(f"wrote {len(current.names)} lines to {baseline.NAMES.name} and {baseline.STUB.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
