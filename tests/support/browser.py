"""The Chromium of this machine."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
"""The first is a Chromium without windows, which costs half of what a whole one does that shows none."""


def find_browser() -> str | None:
    """Return the command of a Chromium, or None where there is none; CHROMIUM names one that is not on the PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
