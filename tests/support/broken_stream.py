"""A run's event stream that breaks off, on a server that answers 500 without a body before it goes on.

So the real host answers while a killed worker starts again: its connections end, and one request more may get that 500.
"""

from __future__ import annotations

import http.server
import json
import threading
from functools import partial
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

EVENTS = "/events"
FRAMES = (
    ("accepted", {"status": "accepted"}),
    ("delta", {"text": "one ", "offset": 0}),
    ("delta", {"text": "two ", "offset": 4}),
    ("delta", {"text": "three", "offset": 8}),
    ("completed", {"response": "one two three"}),
)
BREAKS_OFF_BEHIND = 2


class BrokenStream:
    """Serves the files of a folder, and the stream: the first follower loses it, the second gets the 500."""

    def __init__(self, folder: Path) -> None:
        self.followed_behind: list[str] = []
        handler = partial(_Handler, self.followed_behind, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> BrokenStream:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, followed_behind: list[str], *arguments: object, directory: str) -> None:
        self._followed_behind = followed_behind
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]

    def do_POST(self) -> None:
        """Begin the run: its first event, and where the others are."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(200, 0, 1)

    def do_GET(self) -> None:
        """Tell the events behind the named one, as far as this follower gets."""
        requested = urlsplit(self.path)
        if requested.path != EVENTS:
            super().do_GET()
            return
        last = self.headers.get("Last-Event-ID", "".join(parse_qs(requested.query).get("after", [])))
        self._followed_behind.append(last)
        if len(self._followed_behind) == 1:
            self._answer(200, int(last or 0), BREAKS_OFF_BEHIND)
        elif len(self._followed_behind) == 2:
            self._answer(500, 0, 0)
        else:
            self._answer(200, int(last or 0), len(FRAMES))

    def _answer(self, status: int, behind: int, until: int) -> None:
        received = "".join(
            f"id: {number}\nevent: {name}\ndata: {json.dumps(fields)}\n\n"
            for number, (name, fields) in enumerate(FRAMES, 1)
            if behind < number <= until
        )
        self.send_response(status)
        self.send_header("Content-Location", EVENTS)
        self.send_header("Content-Length", str(len(received)))
        if status == 200:
            self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(received.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing: what is wrong stands in the tests' own words."""
