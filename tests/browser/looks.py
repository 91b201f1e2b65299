"""How a page is looked at: on a narrow and a wide screen, light and dark, and with forced colours."""

from __future__ import annotations

from typing import Any

NARROW_PX, DESKTOP_PX = {"width": 320, "height": 640}, {"width": 1280, "height": 900}

# The options of a browser's context.
LOOKS: dict[str, dict[str, Any]] = {
    "light-320": {"viewport": NARROW_PX},
    "dark-320": {"viewport": NARROW_PX, "color_scheme": "dark"},
    "light-1280": {"viewport": DESKTOP_PX},
    "dark-1280": {"viewport": DESKTOP_PX, "color_scheme": "dark"},
    "forced-colours": {"viewport": DESKTOP_PX, "forced_colors": "active"},
}
