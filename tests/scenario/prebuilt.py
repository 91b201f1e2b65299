"""
Writes `scenarios/*.prebuilt.json`: `python -m tests.scenario.prebuilt`.

`mockserver serve` starts with the demo; as JSON it needs neither the YAML parser nor the schemas.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from mockserver.scenario import library
from mockserver.scenario.documents import read_file

NAMES = ("demo",)


def prebuilt(path: Path) -> str:
    """Return the text of the prebuilt file of a scenario's YAML file."""
    text = path.read_text(encoding="utf-8")
    values = {"crc32": zlib.crc32(text.encode()), "document": read_file(path)}
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    for name in NAMES:
        path = library.paths()[name]
        library.prebuilt_path(path).write_text(prebuilt(path), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
