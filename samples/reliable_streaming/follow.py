"""Read an answer as it is made, lose the connection in the middle, and read on: `follow.py ORIGIN MESSAGE [KEY]`."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import Request, urlopen


@dataclass(frozen=True)
class Frame:
    """One event of the stream."""

    id: str
    event: str
    data: dict[str, Any]


def frames(stream: HTTPResponse) -> Iterator[Frame]:
    """Yield the events; what is not one, such as a ping, is passed over."""
    fields: dict[str, str] = {}
    for line in stream:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "event" in fields:
            yield Frame(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
            fields = {}


def followed(address: str, headers: dict[str, str], last: str, tries: int = 60) -> Iterator[Frame]:
    """Yield the events after `last` to the end of the run, over as many connections as that takes.

    A connection may break off at any time, and while the app's process starts again a new one may be refused, or
    answered 500 without a word. Of the run neither says anything.
    """
    while tries:
        try:
            with urlopen(Request(address, headers={**headers, "Last-Event-ID": last})) as stream:
                for frame in frames(stream):
                    yield frame
                    last = frame.id or last
                    if frame.event in ENDS:
                        return
        except HTTPError as refused:
            if refused.code < 500:
                raise
        except (OSError, HTTPException):
            pass
        tries -= 1
        time.sleep(1)
    raise SystemExit(f"{address} is away. Its events after {last} are kept: ask again later.")


def main(origin: str, message: str, key: str = "") -> None:
    """Print what comes, and where it broke off."""
    headers = {"x-functions-key": key} if key else {}
    asked = Request(f"{origin}/api/agents/guide/run", message.encode(), {**headers, "Accept": "text/event-stream"})
    with urlopen(asked) as stream:
        address = urljoin(origin, stream.headers["Content-Location"])
        first = next(frames(stream))
    print(f"{first.event}; the connection is lost after event {first.id}, and the run goes on")

    said = printed = ""
    for frame in followed(address, headers, first.id):
        if frame.event == "delta":
            said = said[: frame.data["offset"]] + frame.data["text"]
            printed = show_words(said, printed)
        else:
            show_name(frame)


def show_words(said: str, printed: str) -> str:
    """Print what of the words is new, and return what is printed now.

    Behind a lost connection words are told again; another attempt may say others in their place.
    """
    if printed.startswith(said):
        return printed
    is_more = said.startswith(printed)
    print(said.removeprefix(printed) if is_more else f"\n{said}", end="", flush=True)
    return said


def show_name(frame: Frame) -> None:
    """Print the event, and the tool if it is about one; the last one below the words."""
    below = "\n" if frame.event in ENDS else ""
    print(f"{below}{frame.event} {frame.data.get('tool', '')}".rstrip())


ENDS = ("completed", "failed", "cancelled")


if __name__ == "__main__":
    main(*sys.argv[1:])
