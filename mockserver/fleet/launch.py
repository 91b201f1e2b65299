"""
Replace this process by a program that ends with the process that has started it, on Linux.

It runs by its path and imports nothing of this package, so that it takes little time:
`python launch.py PARENT PROGRAM ARGUMENTS...`, where PARENT is the process id of the one that starts it.
"""

from __future__ import annotations

import os
import signal
import sys

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl, which a program that replaces this one inherits


def main(arguments: list[str]) -> None:
    """Replace this process by the program of the arguments."""
    parent, program = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before it could be watched
        sys.exit(1)
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
