"""The folders of samples/, and copies of them to run: what a host writes beside an app stays out of the tree."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
APPS = sorted(path.parent.name for path in SAMPLES.glob("*/function_app.py"))


def page_of(name: str) -> str:
    """Return the text of a sample's page."""
    return (SAMPLES / name / "README.md").read_text(encoding="utf-8")


def copy_app(name: str, folder: Path) -> Path:
    """Return a copy of a sample's files; settings and stores that a developer's own runs left are not among them."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "local.settings.json", "node_modules")
    return shutil.copytree(SAMPLES / name, folder / name, ignore=ignored)
