"""Check a tag before its release: `python .ci/tag.py v1.2.3` fails unless it is the version and the changelog has a section for it."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problem(tag: str, version: str, changelog: str) -> str | None:
    """Return why a tag may not be released, or None."""
    if tag != f"v{version}":
        return f"got the tag {tag}; expected v{version}, the version of pyproject.toml"
    if re.search(rf"^## \[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE) is None:
        return f"got no section for {version} in CHANGELOG.md; expected `## {version} - YYYY-MM-DD`"
    return None


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sys.exit(problem(sys.argv[1], project["version"], (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
