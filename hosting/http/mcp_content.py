"""The pictures, sound and files of an answer as blocks of MCP content."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from hosting.core.thread.events import Completed
from hosting.core.thread.run import Run
from state.portable import data_uri_parts, is_base64

SCHEME = "thread"
_BESIDE_TEXT = ("data", "uri")
_TEXTS = ("application/json", "application/xml", "application/yaml")

Block = dict[str, Any]


def thread_uri(agent: str, thread_id: str, *more: str) -> str:
    """Return the address of a thread, or of what is in it."""
    return f"{SCHEME}://" + "/".join(quote(part, safe="@:") for part in (agent, thread_id, *more))


def read_thread_uri(uri: str) -> list[str] | None:
    """Return the agent, the thread and what is in it of an address; None for an address of something else."""
    scheme, _, path = uri.partition("://")
    return [unquote(part) for part in path.split("/")] if scheme == SCHEME else None


def files_of(run: Run) -> list[Mapping[str, Any]]:
    """Return what the run answered besides text, in stored form: contents with bytes, and links."""
    messages = run.end.entry.get("messages", ()) if isinstance(run.end, Completed) else ()
    contents = (content for message in messages for content in message.get("contents", ()))
    return [content for content in contents if content.get("$type") in _BESIDE_TEXT and content.get("uri")]


def blocks_of(run: Run) -> list[Block]:
    """Return what the run answered besides text: pictures, sound, other files, and links."""
    return [_block(run, number, content) for number, content in enumerate(files_of(run))]


def _block(run: Run, number: int, content: Mapping[str, Any]) -> Block:
    uri, parts = str(content["uri"]), data_uri_parts(str(content["uri"]))
    if parts is None or not is_base64(parts[1]):
        kind = {"mimeType": content["mediaType"]} if content.get("mediaType") else {}
        return {"type": "resource_link", "uri": uri, "name": content.get("name") or "link", **kind}
    media_type, body = content.get("mediaType") or parts[0], parts[1]
    if (kind_of := media_type.partition("/")[0]) in ("image", "audio"):
        return {"type": kind_of, "data": body, "mimeType": media_type}
    address = thread_uri(run.accepted.agent, run.accepted.thread_id, run.run_id, str(number))
    return {"type": "resource", "resource": file_resource(address, media_type, body)}


def file_resource(uri: str, media_type: str, body: str) -> Block:
    """Return a file with its address: as text if it is one, else as its bytes, which are base64 in the `body`."""
    if media_type.startswith("text/") or media_type in _TEXTS:
        try:
            return {"uri": uri, "mimeType": media_type, "text": base64.b64decode(body).decode()}
        except UnicodeDecodeError:  # in another encoding
            pass
    return {"uri": uri, "mimeType": media_type, "blob": body}
