"""`python -m devhost send`: asks the running host of this machine to deliver one message to a function."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from devhost.errors import HostError

_SECONDS = 30


class SendRefusedError(HostError):
    """The message could not be read, or the host refused it."""


def read_body(text: str) -> str:
    """Return the text, or the content of the file that it names as `@file`."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SendRefusedError(f"{text[1:]} cannot be read as UTF-8 text: {error}") from error


def read_metadata(pairs: Sequence[str]) -> Mapping[str, str]:
    """Return `name=value` pairs as a mapping."""
    for pair in pairs:
        if "=" not in pair:
            raise SendRefusedError(f"--metadata {pair!r} has no value; give name=value.")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def send(host: str, port: int, key: str, function: str, message: Mapping[str, object]) -> None:
    """Have the host at the address deliver the message; raise `SendRefusedError` with its sentence when it does not."""
    connection = HTTPConnection(host, port, timeout=_SECONDS)
    headers = {"Content-Type": "application/json", **({"x-functions-key": key} if key else {})}
    try:
        connection.request("POST", f"/admin/functions/{function}", json.dumps(message), headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
    except (OSError, HTTPException) as error:
        raise SendRefusedError(
            f"No local host answers at {host}:{port} ({error}). Start one, or give its --host and --port."
        ) from error
    finally:
        connection.close()
    if response.status == 404:
        raise SendRefusedError(f"The host at {host}:{port} runs no function '{function}'.")
    if response.status != 202:
        raise SendRefusedError(text or f"The host answered {response.status}.")
