"""Folds the updates of one run into the protocol's progress.

Theory. Progress only grows: it is the position of the newest event in the thread's log, and a fraction for what comes
before the next one. So it grows through the runs that go on with a call, and for whoever goes on with its stream, in
any process.
"""

from __future__ import annotations

from typing import Any

from hosting.core import transcript
from hosting.core.broadcast import LoggedEvent, Update
from hosting.core.thread.events import Claimed, Progressed
from hosting.core.thread.run import Run
from hosting.http.wire_runs import ItemFold
from hosting.visible import visible_line

Progress = dict[str, Any]


class ProgressFold(ItemFold[str]):
    """One run of a call; `position` is that of its newest event."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, names_causes=False)
        self.position = run.first
        self._count = 0

    def progress(self, update: Update) -> list[Progress]:
        """Fold one more, and return its news: the agent's words as they come, its tools, and how far it is."""
        if isinstance(update, LoggedEvent):
            self.position, self._count = update.position, 0
        news = []
        for words in self.next(update):
            news.append({"progress": self.position + self._count / (self._count + 1), "message": words})
            self._count += 1
        return news

    def _report(self, progress: Progressed) -> None:
        self._events.append(f"{progress.text or 'Working'} ({progress.share:.0%})")

    def _project(self, position: str, item: transcript.Item) -> None:
        match item:
            case transcript.TextAdded():
                self._events.append(item.text)
            case transcript.CalledTool():
                tool = visible_line(item.tool) or "A tool"
                self._events.append(f"{tool} has ended." if item.outcome else f"{tool} begins.")
            case Claimed() if item.attempt > 1:
                self._events.append("The run begins again in another process. The text so far may come again.")
