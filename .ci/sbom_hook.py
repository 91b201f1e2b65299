"""A hook of hatchling, on in `.ci/release` alone: the wheel of a release has its bill of materials (PEP 770)."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SbomHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the file that RELEASE_SBOM names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["sbom_files"].append(os.environ["RELEASE_SBOM"])
