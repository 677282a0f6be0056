"""The steps of a run as callers read them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hosting.core.outcome import RunIds, RunStatus, Usage
from hosting.progress import Progress


class StepAuthor(TypedDict):
    """The signed-in person who did it."""

    issuer: str
    id: str
    name: str | None


class OtherThread(TypedDict):
    """The thread of a task that a tool call began, or the run that began this one."""

    agent: str
    thread_id: str
    run_id: NotRequired[str]


class TimelineStep(TypedDict):
    """One step of a run, from `at` to `ended_at` (null while it runs); other fields depend on its kind."""

    kind: Literal[
        "accepted",
        "attempt",
        "model_call",
        "tool_call",
        "tool_step",
        "executor",
        "voided",
        "paused",
        "cancel_requested",
        "approval_answered",
        "message_joined",
        "ended",
    ]
    at: str
    ended_at: str | None
    id: NotRequired[str]
    attempt: NotRequired[int]
    holder: NotRequired[Literal["caller", "entity"]]
    executor: NotRequired[str]
    superstep: NotRequired[int]
    yielded: NotRequired[int]
    asked: NotRequired[int]
    tool: NotRequired[str]
    tools: NotRequired[list[str]]
    call: NotRequired[str]
    name: NotRequired[str]
    arguments: NotRequired[Any]
    edited_arguments: NotRequired[dict[str, Any]]
    result: NotRequired[str]
    error: NotRequired[str]
    usage: NotRequired[Usage]
    model: NotRequired[str]
    finish_reason: NotRequired[str]
    incomplete: NotRequired[Literal[True]]
    cost: NotRequired[str]
    text: NotRequired[str]
    reasoning: NotRequired[str]
    approved: NotRequired[bool]
    value: NotRequired[Any]
    default: NotRequired[Literal[True]]
    reason: NotRequired[str]
    by: NotRequired[StepAuthor]
    task: NotRequired[OtherThread]
    status: NotRequired[Literal["success", "failed", "timed_out", "cancelled", "joined"]]
    code: NotRequired[str]
    joined: NotRequired[str]


class RunTimeline(RunIds):
    """The steps of a run, in the order in which they were recorded.

    `continues` is the run whose questions or approvals were answered, so that this run began. `begun_by` is the run of
    another thread that has this one as its task. `notifies`: a webhook is notified of its end. `incomplete`: the answer
    is incomplete for the reason `finish_reason`; the step of a model call has both if known. `progress` is how far the
    run is, while it has not ended.
    """

    status: RunStatus
    created_at: str
    ended_at: str | None
    usage: Usage
    finish_reason: str | None
    incomplete: bool
    cost: NotRequired[str]
    continues: NotRequired[str]
    begun_by: NotRequired[OtherThread]
    progress: NotRequired[Progress]
    notifies: bool
    steps: list[TimelineStep]
