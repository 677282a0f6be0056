"""Serves an app of ASGI as a peer of the tests: the port that is given, or a free one, and its address printed."""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn


def serve(app: Any) -> None:
    """Serve until the process ends."""
    with socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0)) as listening:
        print(f"development only: http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
