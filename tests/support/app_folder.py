"""Small app folders made for one test."""

from __future__ import annotations

import json
from pathlib import Path

HOST_JSON: dict[str, object] = {"version": "2.0"}


def make_app(folder: Path, source: str | None, **files: object) -> Path:
    """Write an app folder: the script's source (None: no script), and JSON files by their stem, as text or object."""
    for stem, content in {"host": HOST_JSON, **files}.items():
        name = stem.replace("local_settings", "local.settings") + ".json"
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    if source is not None:
        (folder / "function_app.py").write_text(source, encoding="utf-8")
    return folder
