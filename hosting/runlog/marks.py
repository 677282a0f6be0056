"""The mark on a deleted thread as one JSON object, for the backends that store it as text."""

from __future__ import annotations

import json

from hosting.ports import Deletion


def encode_mark(mark: Deletion) -> str:
    """Return the mark as JSON; what there is not yet is left out, so that a script can tell by `digest`."""
    told = {"id": mark.id, "digest": mark.digest, "runs": mark.runs or None, "receipt": mark.receipt}
    return json.dumps({name: value for name, value in told.items() if value is not None})


def decode_mark(text: str | bytes) -> Deletion:
    """Return the mark that `encode_mark` wrote."""
    stored = json.loads(text)
    return Deletion(stored["id"], stored.get("digest"), stored.get("runs", 0), stored.get("receipt"))
