"""`python -m state FILE` (or `-`): is this stored document readable, what is in it, what was said.

Exit status: 0 readable, 1 refused (the code and the sentence are on standard error), 2 the file could not be read.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from state.codec import read
from state.errors import UnreadableStateError
from state.report import summary, transcript, unknown_places


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell about one document and return the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console that lacks a character must not end the telling
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(prog="python -m state", description="Tell what a stored conversation holds.")
    parser.add_argument("file", help="the document, or - for standard input")
    place = parser.parse_args(arguments).file
    try:
        stored = sys.stdin.buffer.read() if place == "-" else Path(place).read_bytes()
        text = stored.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        print(f"{place} cannot be read: {error}", file=sys.stderr)
        return 2
    return _tell(text, len(stored))


def _tell(text: str, size: int) -> int:
    try:
        conversation = read(text)
    except UnreadableStateError as error:
        print(f"not readable ({error.code}): {error}", file=sys.stderr)
        return 1
    unknown = [f"unknown, kept: {place}" for place in unknown_places(conversation)]
    print("readable", *summary(conversation, size), *unknown, "", *transcript(conversation), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
