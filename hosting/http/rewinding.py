"""The state of a thread before a run that is replaced, because its message is sent again or edited.

Theory. The thread stays the same one, and its log says in one event what was taken back and how many entries the
conversation has then; the run that goes on stands in the same append. So either both count, or nothing. The event is
made of the thread as it was read: where anything came between, the append is refused, and the thread is read again.

Entries that are archived are never changed, because forks may refer to them. So a run is taken back only while what it
left stands in the document, and would after the entity's next operation. Messages that were put in behind it, and a
session that was written since, are taken back with it.
"""

from __future__ import annotations

from collections.abc import Collection

from hosting.core.archiving import Archiver
from hosting.core.thread.thread_events import Rewound
from hosting.core.thread_view import ThreadView
from hosting.errors import RunNotNewestError
from state.extension import host_of


class Rewinding:
    """Finds the state of one app's threads before a run."""

    def __init__(self, archiver: Archiver) -> None:
        self._archiver = archiver

    def before(self, view: ThreadView, run_id: str, answered: Collection[str], now: float) -> Rewound:
        """Return with which event a run goes on from before that one, as the thread is now; `now` is the event's time.

        `answered` are those of the runs from there on that have left something to the model. Raises
        `RunNotNewestError` where one of them is archived, or gone.
        """
        first = next((run.first for run in view.runs if run.run_id == run_id), None)
        if first is None:
            raise RunNotNewestError("That message no longer exists. Continue from the newest.")
        taken_back = {run.run_id for run in view.runs if run.first >= first}
        entries = view.conversation.data.conversation_history.stored
        recent = [entry.correlation_id for entry in entries]
        length = next((number for number, name in enumerate(recent) if name in taken_back), len(recent))
        archived = host_of(view.conversation).archived.entries
        if not set(answered) <= set(recent) or archived + length < self._archived_next(view):
            raise RunNotNewestError(
                "That message is too far back: the entries after it are archived and cannot be replaced. Fork the "
                "thread before it, or continue from the newest."
            )
        session = view.session_after(recent[:length], first)
        return Rewound(at=now, first=first, entries=archived + length, session=session)

    def _archived_next(self, view: ThreadView) -> int:
        """Return how many entries are archived once the entity has come by."""
        return host_of(self._archiver.cut(view.conversation)).archived.entries
