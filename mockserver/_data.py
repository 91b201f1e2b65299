"""Where the package's data folders are: inside an installed package, or next to it in a checkout."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

MARKER: Final = ".mockserver-data"
_PACKAGE: Final = Path(__file__).resolve().parent


class DataNotFoundError(FileNotFoundError):
    """A data folder is in none of the places where it can be; the message names them."""

    def __init__(self, name: str, tried: Sequence[Path]) -> None:
        places = " and ".join(str(base / name) for base in tried)
        super().__init__(f"no folder {name!r} with the marker file {MARKER}: looked at {places}; reinstall the package")


@cache
def data_dir(name: Literal["docs", "schemas", "scenarios"]) -> Path:
    """
    The folder `name` that holds the marker file: an installed one takes precedence over the checkout's.

    Without the marker a stranger's `site-packages/schemas` could be taken for ours.
    """
    return find(name, (_PACKAGE, _PACKAGE.parent))


def find(name: str, bases: Sequence[Path]) -> Path:
    """The first `base / name` that holds the marker file; refuses with DataNotFoundError when none does."""
    for base in bases:
        if (base / name / MARKER).is_file():
            return base / name
    raise DataNotFoundError(name, bases)
