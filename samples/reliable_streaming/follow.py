"""Read an answer as it is made, lose the connection in the middle, and read on: `follow.py ORIGIN MESSAGE`."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any
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


def main(origin: str, message: str) -> None:
    """Print what comes, and where it broke off."""
    asked = Request(f"{origin}/api/agents/guide/run", message.encode(), {"Accept": "text/event-stream"})
    with urlopen(asked) as stream:
        address = urljoin(origin, stream.headers["Content-Location"])
        first = next(frames(stream))
    print(f"{first.event}; the connection is lost behind event {first.id}, and the run goes on")

    with urlopen(Request(address, headers={"Last-Event-ID": first.id})) as stream:
        for frame in frames(stream):
            SHOWN.get(frame.event, show_name)(frame)


def show_words(frame: Frame) -> None:
    """Print the words behind those that came before."""
    print(frame.data["text"], end="", flush=True)


def show_end(frame: Frame) -> None:
    """End the line of words."""
    print(f"\n{frame.event}")


def show_name(frame: Frame) -> None:
    """Print the event, and the tool if it is about one."""
    print(f"{frame.event} {frame.data.get('tool', '')}".rstrip())


SHOWN = {"delta": show_words, "completed": show_end}


if __name__ == "__main__":
    main(*sys.argv[1:])
