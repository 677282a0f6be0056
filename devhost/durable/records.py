"""What the engine remembers: instances, entities, messages under way, and the step that changes them together."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from devhost.durable.events import Event, Parent


def _etags_of_process() -> Iterator[str]:
    """Return texts that no process gives out twice; random ones would cost a system call for each step."""
    process = uuid.uuid4().hex
    return (f"{process}-{number}" for number in itertools.count())


def _begin_in_child() -> None:
    global _etags
    _etags = _etags_of_process()


_etags = _etags_of_process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Status(Enum):
    """An orchestration's runtime status, by its name on the wire; `number` is the protocol's."""

    RUNNING = "Running"
    COMPLETED = "Completed"
    CONTINUED_AS_NEW = "ContinuedAsNew"
    FAILED = "Failed"
    CANCELED = "Canceled"
    TERMINATED = "Terminated"
    PENDING = "Pending"
    SUSPENDED = "Suspended"

    @property
    def number(self) -> int:
        return list(Status).index(self)

    @property
    def is_terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELED, Status.TERMINATED})


class TargetKind(Enum):
    """Who receives a message."""

    ORCHESTRATION = "orchestration"
    ENTITY = "entity"
    ACTIVITY = "activity"


@dataclass(frozen=True)
class Target:
    """One receiver; messages for one target are handled in order, by one invocation at a time.

    The kind is part of it because an orchestration may be named like an entity (`@a@b`).
    """

    kind: TargetKind
    id: str


@dataclass(frozen=True)
class EntityId:
    """An entity's name, lower-cased as the protocol has it, and its key, whose case counts."""

    name: str
    key: str

    def __str__(self) -> str:
        return f"@{self.name}@{self.key}"

    @classmethod
    def of(cls, name: str, key: str) -> EntityId:
        """Return the id of the entity, whatever the case of its name."""
        return cls(name.lower(), key)

    @classmethod
    def parse(cls, text: str) -> EntityId:
        """Return the id that `@name@key` says; the key may hold further `@`. Raises ValueError for other texts."""
        start, name, key = (*text.split("@", 2), "", "")[:3]
        if start or not name or text.count("@") < 2:
            raise ValueError(f"{text!r} is not an entity id such as @counter@key")
        return cls.of(name, key)


@dataclass(frozen=True)
class Orchestration:
    """One instance as its status shows it; `input`, `output` and `custom_status` are JSON texts.

    `is_continued` says that the execution was begun by continue-as-new and has not had its first episode. `etag` names
    the step that wrote the record; it is empty on one that no store has given out.
    """

    instance_id: str
    name: str
    execution_id: str
    status: Status
    input: str | None
    created_at: datetime
    updated_at: datetime
    output: str | None = None
    custom_status: str | None = None
    parent: Parent | None = None
    is_continued: bool = False
    version: str | None = None
    etag: str = field(default="", compare=False)


@dataclass(frozen=True)
class Lock:
    """The lock of an entity: the orchestration that has it, and that one's critical section."""

    holder_id: str
    section_id: str


@dataclass(frozen=True)
class Entity:
    """One entity's state, an opaque JSON text; a deleted entity stays as a record that does not exist.

    `lock` is the one that an orchestration holds. `etag` is as an orchestration's.
    """

    id: EntityId
    exists: bool
    state: str | None
    updated_at: datetime
    lock: Lock | None = None
    etag: str = field(default="", compare=False)


@dataclass(frozen=True)
class EventMessage:
    """A history event for an orchestration; for one execution only when `execution_id` is given.

    `carried` are the events right behind it, which a continued execution takes over from the one before.
    """

    event: Event
    execution_id: str | None = None
    carried: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Operation:
    """An operation for an entity; `input` is JSON text. A caller waits when it is no signal."""

    id: str
    name: str
    input: str | None
    caller_id: str | None = None
    caller_execution_id: str | None = None

    @property
    def is_signal(self) -> bool:
        return self.caller_id is None


@dataclass(frozen=True)
class LockRequest:
    """An orchestration asks for the locks of entities, one after another; that of `position` is asked now.

    `id` is its critical section's, under which the orchestration waits for the last of the locks.
    """

    id: str
    entity_ids: tuple[str, ...]
    position: int
    caller_id: str
    caller_execution_id: str


@dataclass(frozen=True)
class Release:
    """A critical section is over: its lock of the entity, if it has it, is free."""

    section_id: str


@dataclass(frozen=True)
class ActivityTask:
    """One invocation of an activity, and where its result goes."""

    name: str
    input: str
    task_id: int
    caller_id: str
    caller_execution_id: str


@dataclass(frozen=True)
class Rewind:
    """An instance that failed is to run again (`devhost/durable/rewind.py`); nothing when it has not failed."""

    reason: str | None


Body = EventMessage | Operation | LockRequest | Release | ActivityTask | Rewind


@dataclass(frozen=True)
class Outgoing:
    """A message that is to be sent when the step commits; not before `due` when that is given."""

    target: Target
    body: Body
    due: datetime | None = None


@dataclass(frozen=True)
class Message:
    """A message under way; `seq` rises in the order of the commits that sent them, whoever made them."""

    seq: int
    target: Target
    body: Body
    due: datetime | None = None


@dataclass(frozen=True)
class Inbox:
    """What waits for one target: the first messages whose time has come, in the order of their times.

    `is_all` says that no message is left behind them, `next_due` when the first one comes whose time has not. `record`
    is the target's at the same moment, None when there is none; activities have none.
    """

    messages: tuple[Message, ...] = ()
    is_all: bool = True
    next_due: datetime | None = None
    record: Orchestration | Entity | None = None


@dataclass(frozen=True)
class History:
    """A change of one instance's history: `events` go to the end, or replace it all when `is_new`."""

    events: tuple[Event, ...] = ()
    is_new: bool = False


@dataclass(frozen=True)
class Read:
    """The record that a step was decided on: the etag of the target's record then, None when there was none."""

    target: Target
    etag: str | None

    @classmethod
    def of(cls, target: Target, record: Orchestration | Entity | None) -> Read:
        return cls(target, None if record is None else record.etag)


@dataclass(frozen=True)
class Superseded:
    """An execution that is over while its instance goes on: messages for that execution have nobody to go to."""

    target: Target
    execution_id: str


@dataclass(frozen=True)
class Step:
    """Everything that one piece of work changes; a store keeps all of it or nothing.

    It is kept only when the record of `read` is still the one that was read and every message of `consumed` (their
    seqs) still waits: another process may have changed either. `silenced` is a target whose waiting messages are
    dropped (but for what its sender waits for: a call, the start of another execution), `superseded` an execution whose
    are (those of `produced` are not), `forgotten` instances that vanish with all that belongs to them, or but for the
    messages that wait for them with `spares_messages`. `at` is when the messages of `produced` are sent, `etag` what
    the written records carry.
    """

    consumed: tuple[int, ...] = ()
    orchestration: Orchestration | None = None
    history: History = History()
    entity: Entity | None = None
    silenced: Target | None = None
    superseded: Superseded | None = None
    forgotten: tuple[Target, ...] = ()
    spares_messages: bool = False
    produced: tuple[Outgoing, ...] = ()
    read: Read | None = None
    at: datetime = _LONG_AGO
    etag: str = field(default_factory=lambda: next(_etags))

    @property
    def deletes(self) -> bool:
        """Whether something is gone after this step, so that no file may hold it any more."""
        return bool(self.forgotten) or (self.entity is not None and not self.entity.exists)


def orchestration_target(instance_id: str) -> Target:
    return Target(TargetKind.ORCHESTRATION, instance_id)


def entity_target(entity_id: EntityId) -> Target:
    return Target(TargetKind.ENTITY, str(entity_id))


def activity_target(task: ActivityTask) -> Target:
    return Target(TargetKind.ACTIVITY, f"{task.caller_execution_id}:{task.task_id}")
