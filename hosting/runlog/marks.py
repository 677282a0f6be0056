"""The mark on a deleted thread as one JSON object, for the backends that store it as text."""

from __future__ import annotations

import json

from hosting.ports import Deletion


def encode_mark(mark: Deletion) -> str:
    """Return the mark as JSON; the digest is left out until there is one."""
    return json.dumps({"id": mark.id} if mark.digest is None else {"id": mark.id, "digest": mark.digest})


def decode_mark(text: str | bytes) -> Deletion:
    """Return the mark that `encode_mark` wrote."""
    stored = json.loads(text)
    return Deletion(stored["id"], stored.get("digest"))
