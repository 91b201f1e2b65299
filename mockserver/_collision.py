"""Another distribution that installs a package named `mockserver` too, and so replaces files of this one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent
# A module of `mockserver-client`; here a folder has this name, so no file of this package does.
_ITS_FILE: Final = "pytest_plugin.py"


def find_collision(package: Path = _PACKAGE) -> str | None:
    """Return one line that names both distributions and the cure, or None if the folder has the files of this one alone."""
    if not (package / _ITS_FILE).is_file():
        return None
    return (
        f"got files of mockserver-client in {package}; expected those of crm-gateway-mockserver alone: "
        "run `pip uninstall mockserver-client crm-gateway-mockserver`, then install each in an environment of its own"
    )
