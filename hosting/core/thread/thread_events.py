"""The events of a thread that belong to none of its runs; `events` has those of runs, and what they are as a whole."""

from __future__ import annotations

from typing import Any, Literal

from hosting.core.thread import run_request as parts
from hosting.core.thread.log_event import LogEvent
from hosting.metadata import Value
from hosting.principal import Principal

DeleteReason = Literal["asked", "expired", "assigned"]


class Reset(LogEvent):
    """The conversation is forgotten; every claim after this begins with an empty one."""

    kind: Literal["reset"] = "reset"


class Rewound(LogEvent):
    """The runs from position `first` on no longer count; `entries` are left, archived ones too, and the `session`."""

    v: int = 8
    kind: Literal["rewound"] = "rewound"
    first: int
    entries: int
    session: dict[str, Any] | None = None


class StandingWithdrawn(LogEvent):
    """The standing approval of that id, which the session has, holds for no run that is claimed after this."""

    v: int = 9
    kind: Literal["standing_withdrawn"] = "standing_withdrawn"
    id: str


class Imported(LogEvent):
    """The thread begins with the `text` of a document from elsewhere; its contents are our attachments by now."""

    v: int = 2
    kind: Literal["imported"] = "imported"
    text: str
    source: str
    title: str = ""


class MessagesPut(LogEvent):
    """A person put messages into the conversation, and no run made them: `principal`, None without a sign-in.

    They stand there between the runs that ended before and those that were accepted after. `id` is of them together.
    """

    v: int = 12
    kind: Literal["messages_put"] = "messages_put"
    id: str
    messages: tuple[parts.UserMessage, ...]
    principal: Principal | None = None


class SessionWritten(LogEvent):
    """The agent's session is this one from now on, in serialized form; None: it has none. No run made the change."""

    v: int = 12
    kind: Literal["session_written"] = "session_written"
    session: dict[str, Any] | None


class Granted(LogEvent):
    """The owner shares the thread with `principal`: `access` is to `read` it, or to `run` its agent on it too."""

    v: int = 2
    kind: Literal["granted"] = "granted"
    id: str
    principal: Principal
    access: parts.GrantedAccess


class Withdrawn(LogEvent):
    """The grant of that id is none any more."""

    v: int = 2
    kind: Literal["withdrawn"] = "withdrawn"
    id: str


class Described(LogEvent):
    """The thread has this metadata, and none that it had before."""

    v: int = 4
    kind: Literal["described"] = "described"
    metadata: dict[str, Value]


class ReceiverSet(LogEvent):
    """A task of the thread has a receiver: from now on the ends of its tasks' runs name a notification."""

    v: int = 7
    kind: Literal["receiver_set"] = "receiver_set"


class Deleting(LogEvent):
    """The thread is to go: its open runs have ended, and it takes no new ones."""

    kind: Literal["deleting"] = "deleting"
    reason: DeleteReason


class Deleted(LogEvent):
    """The tombstone: earlier events no longer count. `receipt` lists the deleted data, as JSON values."""

    kind: Literal["deleted"] = "deleted"
    receipt: dict[str, Any]


class InstancesRecorded(LogEvent):
    """The outcomes of durable instances in the receipt before; the others are unchanged."""

    kind: Literal["settled"] = "settled"
    instances: tuple[parts.InstanceOutcome, ...]


class Trimmed(LogEvent):
    """Events at or before position `through` may be removed, with their rows: a committed document holds them."""

    kind: Literal["trimmed"] = "trimmed"
    through: int
