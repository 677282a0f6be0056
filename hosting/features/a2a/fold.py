"""Folds the updates of a task's runs into the protocol's task and events, the same in every process.

Theory. A task begins with a run. A run that ends with tool calls that wait for a person leaves it at one of WAITS,
and the run that their answers begin is the same task: it is known by the approvals that it decides. Ids are made of run
and position. The answer of each run is one artifact. Its text is sent as it grows; what a reader has and what a later
attempt says otherwise is replaced, whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from hosting.core.broadcast import DeltaText, LoggedEvent, Update
from hosting.core.request.fields import THREAD_METADATA
from hosting.core.thread.events import (
    Accepted,
    Cancelled,
    Claimed,
    Completed,
    Event,
    Joined,
    Progressed,
    RunEvent,
    Terminal,
)
from hosting.core.thread.run import Run
from hosting.core.thread.thread_events import Deleted, Imported, MessagesPut, Reset, Rewound
from hosting.core.transcript import Transcript
from hosting.features.a2a import names, objects
from hosting.features.a2a.names import CANCELED, COMPLETED, FAILED, SUBMITTED, WAITS, WORKING
from hosting.http.run_text import incomplete_note
from hosting.metadata import Metadata
from hosting.model_options import IGNORED
from hosting.names import Address

CANCELS = "cancels"
"""The key in a run's `wire` that marks a run which only continues because its waiting task was canceled."""

Payload = dict[str, Any]
"""The content of one message of a stream: a task, or an update of its status or of an artifact."""


class TaskContext(Struct, frozen=True):
    """What a task shows of its thread: the `metadata`, and the messages that were `put` in right before the task."""

    metadata: Metadata = {}
    put: Sequence[dict[str, Any]] = ()


NO_CONTEXT = TaskContext()


class TaskFold:
    """One task. `run` is the run that it is at, `run_id` its id, `position` that of the newest folded event.

    `state` and `since` are those of its status; `history_length` is of the task that begins a stream. `context` is what
    it shows of its thread. Updates that were folded already and those of other runs change nothing.
    """

    def __init__(self, run: Run, history_length: int | None = None) -> None:
        """Begin with the run's first event."""
        self.address = run.address
        self.id, self.context_id = names.task_id(run.run_id, run.accepted.thread_id), run.accepted.thread_id
        self.history_length = history_length
        self.context = NO_CONTEXT
        self.position = 0
        self._ignored: Sequence[str] = (run.accepted.wire or {}).get(names.PATH, {}).get(IGNORED, ())
        self._history: list[dict[str, Any]] = []
        self._transcripts: dict[str, Transcript] = {}
        self._more: dict[str, list[dict[str, Any]]] = {}
        self._begin(run)

    def _begin(self, run: Run) -> list[Payload]:
        self.run_id = run.run_id
        self._transcript = self._transcripts[run.run_id] = Transcript(run)
        self._sent = ""
        self._history += objects.user_messages(run.accepted, self.id)
        return self._turn(SUBMITTED, run.accepted.at)

    @property
    def run(self) -> Run:
        """The run that began it, or that continues it."""
        return self._transcript.run

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in (COMPLETED, FAILED, CANCELED)

    @property
    def waits(self) -> bool:
        """Whether it waits for a person."""
        return self.state in WAITS

    @property
    def begun_by(self) -> str:
        """The run that began it; raises `UnsupportedOperationError` if nobody can be notified of it."""
        run_id = self.run.accepted.request.task_run(self.run.run_id)
        if run_id is None:
            raise names.UnsupportedOperationError(
                "This task sends no notifications: it did not start over A2A, or started before the app sent webhooks. "
                "Follow it with SubscribeToTask."
            )
        return run_id

    def receiver_id(self, name: str) -> str:
        """Return the id of a receiver: without an id of its own, or with the task's, it is the same at each repeat."""
        return self.begun_by if name in ("", self.id) else name

    def knows(self, message_id: str, parts: list[dict[str, Any]]) -> bool:
        """Whether this message was sent to it under that id."""
        return any(message["messageId"] == message_id and message["parts"] == parts for message in self._history)

    def task(self, history_length: int | None = None, *, with_artifacts: bool = True) -> dict[str, Any]:
        """Return the task as it stands, with so many of its newest messages; None is for all."""
        task: dict[str, Any] = {**self._named("id"), "status": self._status()}
        if self.context.metadata:
            task["metadata"] = {**task.get("metadata", {}), THREAD_METADATA: dict(self.context.metadata)}
        if with_artifacts:
            task["artifacts"] = [
                objects.artifact(run_id, parts) for run_id in self._transcripts if (parts := self._parts(run_id))
            ]
        if history_length is None or history_length > 0:
            task["history"] = [*self.context.put, *self._history][-(history_length or 0) :]
        return task

    def snapshot(self) -> Payload:
        """Return the task as the first message of a stream, whose later messages continue it."""
        self._sent = self._transcript.text
        return {"task": self.task(self.history_length)}

    def next(self, update: Update) -> list[Payload]:
        """Fold an update, and return its messages."""
        if isinstance(update, DeltaText):
            if update.run_id != self.run_id or self.is_over:
                return []
            self._transcript.next(update)
            return self._grow()
        if update.position <= self.position:
            return []
        self.position = update.position
        return self._fold(update)

    def expire(self, now: float) -> list[Payload]:
        """Have a task with late approvals fail, and return the messages."""
        end = self.run.end
        if self.waits and isinstance(end, Completed) and end.expires_at is not None and now >= end.expires_at:
            return self._give_up(end.expires_at, "Nobody answered in time.")
        return []

    def _fold(self, update: LoggedEvent) -> list[Payload]:
        position, event = update.position, update.event
        if isinstance(event, Accepted) and event.run_id != self.run_id:
            return self._continue(position, event) if self.waits else []
        if self.is_over:
            return []
        if isinstance(event, Reset) and self.waits:
            return self.expire(event.at) or self._give_up(event.at, "The conversation was reset.")
        if not isinstance(event, RunEvent) or event.run_id != self.run_id:
            return []
        had_ended = self.run.end is not None
        self._transcript.next(update)
        end = self.run.end
        if end is not None:
            if not had_ended:
                return self._end(position, end)
            return self._ask(position, end) if self.waits and self.run.undecided else []
        if isinstance(event, Accepted):
            return [self.snapshot()]
        if isinstance(event, Claimed):
            return self._turn(WORKING, event.at) if self.state == SUBMITTED else []
        if isinstance(event, Progressed):
            return self._turn(WORKING, event.at, objects.progress_message(self.run, position, self.id, event))
        return self._grow()

    def _continue(self, position: int, event: Accepted) -> list[Payload]:
        """Continue with the run that decides on the task's waiting calls, or end without it."""
        decided = {decision.id for decision in event.request.decisions}
        if not decided or decided != {approval.id for approval in self.run.requested_approvals}:
            return self.expire(event.at) or self._give_up(event.at, "The conversation continued without it.")
        if (event.wire or {}).get(names.PATH, {}).get(CANCELS):
            return self._turn(CANCELED, event.at)
        if self._message is not None:
            self._history.append(self._message)
        return self._begin(Run(self.address, event, position, position))

    def _parts(self, run_id: str) -> list[dict[str, Any]]:
        text = self._transcripts[run_id].text
        shown = objects.cited_text(text, self._transcripts[run_id].run.end)
        return [*([shown] if text else []), *self._more.get(run_id, ())]

    def _grow(self) -> list[Payload]:
        """Return the text that a reader lacks; text that it has, and that comes again, may yet come."""
        return [] if self._sent.startswith(self._transcript.text) else self._send()

    def _send(self) -> list[Payload]:
        """Return the missing text of the answer, or all of it if the reader has other text."""
        text, sent = self._transcript.text, self._sent
        self._sent = text
        if text == sent:
            return []
        appends = bool(sent) and text.startswith(sent)
        return [self._update([{"text": text[len(sent) :] if appends else text}], appends=appends)]

    def _update(self, parts: list[dict[str, Any]], *, appends: bool) -> Payload:
        shown = {"artifact": objects.artifact(self.run_id, parts), "append": appends}
        return {"artifactUpdate": {"taskId": self.id, "contextId": self.context_id, **shown}}

    def _end(self, position: int, end: Terminal) -> list[Payload]:
        sent, state = self._send(), _state_after(end)
        if "metadata" in (cited := objects.cited_text(self._sent, end)):  # it comes once more, with what it cites
            sent.append(self._update([cited], appends=False))
        if isinstance(end, Completed) and (more := objects.parts_beside_text(self.run.accepted, end)):
            self._more[self.run_id] = more
            sent.append(self._update(more, appends=bool(self._sent)))
        if state in WAITS:
            return [*sent, *self._ask(position, end)]
        text, code = (incomplete_note(end), "incomplete") if isinstance(end, Completed) else (end.detail, end.code)
        return [*sent, *self._turn(state, end.at, self._note(position, "" if state == CANCELED else text, code))]

    def _ask(self, position: int, end: Terminal) -> list[Payload]:
        return self._turn(_state_after(end), end.at, objects.approvals_message(self.run, position, self.id))

    def _give_up(self, since: float, detail: str) -> list[Payload]:
        return self._turn(FAILED, since, self._note(self.run.end_position, detail, "approval_expired"))

    def _note(self, position: int, text: str | None, code: str) -> dict[str, Any] | None:
        """Return a message about the status, None without a text."""
        return objects.status_message(self.run, position, self.id, [{"text": text}], {"code": code}) if text else None

    def _turn(self, state: str, since: float, message: dict[str, Any] | None = None) -> list[Payload]:
        self.state, self.since, self._message = state, since, message
        return [{"statusUpdate": {**self._named("taskId"), "status": self._status()}}]

    def _named(self, name: str) -> dict[str, Any]:
        """Return the ids, the task's by this name, and its metadata."""
        end = self.run.end if self.state in (COMPLETED, *WAITS) else None
        metadata = {**self.run.accepted.request.metadata, **objects.task_metadata(end, self._ignored)}
        return {name: self.id, "contextId": self.context_id, **({"metadata": metadata} if metadata else {})}

    def _status(self) -> dict[str, Any]:
        status = {"state": self.state, "timestamp": objects.timestamp(self.since)}
        return status if self._message is None else {**status, "message": self._message}


def task_update(run: Run, end: Terminal) -> dict[str, Any]:
    """Return the task's status after a run's end, as its receivers get it: without the text of anybody."""
    thread_id, begun_by = run.accepted.thread_id, run.accepted.request.task_run(run.run_id) or run.run_id
    is_canceled = (run.accepted.wire or {}).get(names.PATH, {}).get(CANCELS)
    status = {"state": CANCELED if is_canceled else _state_after(end), "timestamp": objects.timestamp(end.at)}
    return {"statusUpdate": {"taskId": names.task_id(begun_by, thread_id), "contextId": thread_id, "status": status}}


def _state_after(end: Terminal) -> str:
    if isinstance(end, Completed) and end.approvals:
        kinds = {approval.kind for approval in end.approvals}
        return names.AUTH_REQUIRED if "authorization" in kinds else names.INPUT_REQUIRED
    if isinstance(end, Completed | Joined):
        return COMPLETED
    return CANCELED if isinstance(end, Cancelled) else FAILED


def puts_after(puts: list[MessagesPut], event: Event) -> list[MessagesPut]:
    """Return the messages after an event that stand right before whatever run is next."""
    if isinstance(event, MessagesPut):
        return [*puts, event]
    return [] if isinstance(event, RunEvent | Reset | Imported | Deleted | Rewound) else puts


def fold_tasks(address: Address, events: Iterable[tuple[int, Event]], metadata: Metadata) -> list[TaskFold]:
    """Return the tasks of the thread, the oldest first."""
    folds: list[TaskFold] = []
    puts: list[MessagesPut] = []
    by_run: dict[str, TaskFold] = {}
    for position, event in events:
        update = LoggedEvent(position, event)
        if isinstance(event, Accepted | Reset):
            for fold in [waiting for waiting in folds if waiting.waits]:
                fold.next(update)
                by_run[fold.run_id] = fold
        if isinstance(event, Accepted) and event.run_id not in by_run:
            fold = by_run[event.run_id] = TaskFold(Run(address, event, position, position))
            fold.context = TaskContext(metadata, objects.context_messages(address, puts))
            folds.append(fold)
        puts = puts_after(puts, event)
        if isinstance(event, RunEvent) and event.run_id in by_run:
            by_run[event.run_id].next(update)
    return folds
