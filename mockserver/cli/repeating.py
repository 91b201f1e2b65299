"""`mockserver replay`: a run that failed, sent again."""

from __future__ import annotations

import argparse
from typing import TextIO


def replay(options: argparse.Namespace, out: TextIO) -> int:
    """Send a document's calls to a fresh sandbox; 0 when every answer is as recorded, else 1."""
    from mockserver.scenario.documents import read
    from mockserver.testing.replaying import tell

    return tell(read(options.file), out)
