"""Commands as a person types them, in the quoting of the system's own shell."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def command_line(words: Iterable[str], *, is_windows: bool = os.name == "nt") -> str:
    """Return a command as text that the system's shell takes apart into these words."""
    if not is_windows:
        return shlex.join(words)
    import subprocess  # late: it takes milliseconds

    return subprocess.list2cmdline(words)
