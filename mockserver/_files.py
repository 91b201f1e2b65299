"""Files that a reader finds whole or not at all, also on a disk that is full."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, text: str | bytes) -> None:
    """
    Write a file in a single step; what it held before stays if that fails.

    Args:
        file: The file, whose folder is made if it does not exist. A device or a pipe is written to as it is.
        text: Its content; text is written as UTF-8.

    Raises:
        OSError: It cannot be written; no part of it is left.
    """
    content = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not file.is_file():
        file.write_bytes(content)
        return
    target = file.resolve()  # of a link
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(target)
    except OSError as problem:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise OSError(problem.errno, problem.strerror, str(file)) from None
