"""Files that a test leaves behind, below `.mockserver` by default, which then has a `.gitignore` of its own."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockserver.testing.report.folder import make_folder

if TYPE_CHECKING:
    import pytest

_NAME_CHARS: Final = 120


def write(item: pytest.Item, folder: Path, suffix: str, content: bytes) -> str:
    """Write a file named after the test, complete or not at all, and return its path from the working directory."""
    make_folder(folder, item.config.rootpath)
    file = folder / f"{_slug(item.nodeid)}{suffix}"
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(file)
    return shown_path(file)


def shown_path(file: Path) -> str:
    """Return the path from the working directory, with slashes; whole if the file is on another drive of Windows."""
    try:
        return Path(os.path.relpath(file)).as_posix()
    except ValueError:
        return file.as_posix()


def _slug(nodeid: str) -> str:
    """Return a file name for the test; a long one ends in a digest."""
    name = re.sub(r"[^\w.=\-]+", "-", nodeid.replace("::", ".")).strip("-.")
    return (
        name
        if len(name) <= _NAME_CHARS
        else f"{name[: _NAME_CHARS - 9]}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"
    )
