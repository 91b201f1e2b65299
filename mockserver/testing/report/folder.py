"""The folders for what a run leaves behind: documents that repeat failed runs, and traces."""

from __future__ import annotations

from pathlib import Path

FOLDER = ".mockserver"
DEFAULT_FOLDER = f"{FOLDER}/failures"
OFF = "off"


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
