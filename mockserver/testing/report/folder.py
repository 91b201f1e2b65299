"""The folder for the documents that repeat failed runs."""

from __future__ import annotations

from pathlib import Path

DEFAULT_FOLDER = ".mockserver/failures"
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
    Make the folder for documents; git ignores the default one.

    Args:
        folder: The folder.
        root: The folder that the default one is relative to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ignored = folder.parent / ".gitignore"
    if folder == root / DEFAULT_FOLDER and not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")
