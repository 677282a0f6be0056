"""Messages that somebody took and did not handle: nobody sees them until their visibility timeout is over.

So it is for a queue of the real host. Here it is so where faults were asked for (`devhost.durable.unkind`), and what a
process has taken is written beside the store then, because the process that finds it is another one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from devhost.durable.records import Inbox
from devhost.durable.texts import compact, format_utc, parse_utc
from devhost.own_files import make_own_file

FILE = "taken.jsonl"


class Hidden:
    """The messages that cannot be seen, by their seqs; `folder` is where those that a process took outlive it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._until: dict[int, datetime] = {}
        self._file = folder / FILE if folder else None

    def __len__(self) -> int:
        return len(self._until)

    def hide(self, seqs: Sequence[int], until: datetime) -> None:
        """Show these messages to nobody before that time."""
        self._until.update(dict.fromkeys(seqs, until))

    def take(self, seqs: Sequence[int], until: datetime) -> None:
        """Have the next process show them to nobody before that time, if this one dies."""
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(_line(seqs, until))

    def begin(self, now: datetime) -> None:
        """Hide what the last process had taken, but for what can be seen by now."""
        if self._file is None:
            return
        make_own_file(self._file)
        for line in self._file.read_text(encoding="utf-8").splitlines():
            seqs, until = json.loads(line)
            if parse_utc(until) > now:
                self.hide(seqs, parse_utc(until))
        self._file.write_text("".join(_line([seq], until) for seq, until in self._until.items()), encoding="utf-8")

    def leave_out(self, inbox: Inbox, now: datetime, limit: int) -> Inbox:
        """Return the inbox without what is hidden now, so many messages at most; it says when more can be seen."""
        self._until = {seq: until for seq, until in self._until.items() if until > now}
        waiting = [self._until[message.seq] for message in inbox.messages if message.seq in self._until]
        seen = tuple(message for message in inbox.messages if message.seq not in self._until)
        moments = [moment for moment in (inbox.next_due, *waiting) if moment is not None]
        return replace(
            inbox,
            messages=seen[:limit],
            is_all=inbox.is_all and len(seen) <= limit,
            next_due=min(moments, default=None),
        )


def _line(seqs: Sequence[int], until: datetime) -> str:
    return f"{compact([list(seqs), format_utc(until)])}\n"
