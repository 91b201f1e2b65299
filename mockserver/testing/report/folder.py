"""What a run leaves behind, below `.mockserver` by default: documents that repeat failed runs, and traces; their names."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from mockserver._files import write_whole

FOLDER = ".mockserver"
DEFAULT_FOLDER = Path(FOLDER, "failures")
OFF = "off"
_NAME_BYTES = 120  # of a file's name, to which its writer adds a number and an ending
_DIGEST_CHARS = 8
_UNSAFE = re.compile(r"[^\w.=\-]+")
# Windows has devices of these names, also before a dot.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9])(?:\.|$)", re.IGNORECASE)


def folder_for_documents(name: str | None, root: Path) -> Path | None:
    """
    Return the folder for documents; None if none are to be written.

    Args:
        name: A folder, `off` for none, or None for the default one.
        root: The folder that it is relative to.
    """
    return None if name == OFF else root / (name or DEFAULT_FOLDER)


def make_folder(folder: Path, root: Path) -> None:
    """
    Make a folder for files of a run; git ignores those in `.mockserver`.

    Args:
        folder: The folder.
        root: The folder that `.mockserver` is in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ignored = folder.parent / ".gitignore"
    if folder.parent == root / FOLDER and not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")


def file_name(test: str) -> str:
    """
    Return a name for a file of a test, with the folders of the test in it, that every file system takes.

    It ends in a digest where it is long, and where another test could have the same one: `a/b` and `a-b` differ, and
    `[A]` and `[a]`, which are one file on some systems.
    """
    name = _UNSAFE.sub("-", test.replace("::", ".")).strip("-.")
    if _DEVICE.match(name):
        name = f"test-{name}"
    if name and len(name.encode()) <= _NAME_BYTES and _is_exact(test):
        return name
    digest = hashlib.sha256(test.encode(errors="backslashreplace")).hexdigest()[:_DIGEST_CHARS]
    begin = name.encode()[: _NAME_BYTES - _DIGEST_CHARS - 1].decode(errors="ignore")
    return f"{begin or 'test'}-{digest}"


def _is_exact(test: str) -> bool:
    """Return True if a `-` in the name is a slash of the test's path, a bracket, or itself in brackets without capitals."""
    path, _, function = test.partition("::")
    name, bracket, values = function.replace("::", "").partition("[")
    plain = name + (values.removesuffix("]") if function.endswith("]") else bracket + values)
    return not (
        "-" in path or values != values.lower() or _UNSAFE.search(path.replace("/", "")) or _UNSAFE.search(plain)
    )


def claim_file(file: Path, since_ns: int) -> bool:
    """
    Make a file that does not exist, or take over one from before an instant; return False if it is another program's.

    Of several programs that claim a file at the same time one gets it.

    Args:
        file: The file, in a folder that exists.
        since_ns: The instant, in nanoseconds since 1970.
    """
    if _made(file):
        return True
    written_ns = file.stat().st_mtime_ns
    if written_ns >= since_ns:
        return False
    turn = file.with_name(f"{file.name}.{written_ns}")  # by whose making one of several takes over this very file
    if not _made(turn):
        return False
    try:
        is_unchanged = file.stat().st_mtime_ns == written_ns
        if is_unchanged:
            os.utime(file)
        return is_unchanged
    finally:
        turn.unlink()


def _made(file: Path) -> bool:
    """Make an empty file; return False if it exists."""
    try:
        file.open("xb").close()
    except FileExistsError:
        return False
    return True


def write_file(file: Path, root: Path, content: bytes) -> str:
    """
    Write a file, complete or not at all, and return its path from the working directory.

    Args:
        file: The file, whose folder is made if it does not exist.
        root: The folder that `.mockserver` is in.
        content: Its content.
    """
    make_folder(file.parent, root)
    write_whole(file, content)
    return shown_path(file)


def shown_path(file: Path) -> str:
    """Return the path from the working directory, with slashes; whole if the file is on another drive of Windows."""
    try:
        return Path(os.path.relpath(file)).as_posix()
    except ValueError:
        return file.as_posix()
