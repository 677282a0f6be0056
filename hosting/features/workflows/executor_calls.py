"""The executors' work in a superstep: a fold of the framework's events, kept with its checkpoint.

An executor that is called several times in one superstep is there once for each call; calls at the same moment end in
the order in which they began, for the framework's events do not say which of them has ended. Executors of a workflow
within the workflow are there by their path, `inner/upper`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_framework import WorkflowEvent

from hosting.core.thread.run_request import ExecutorCall, Superstep
from hosting.ports import Clock


class ExecutorCalls:
    """Folds the events of a superstep; `take` returns its calls, and begins the next one.

    `note` is called with the superstep whenever an executor begins, ends, fails, yields or asks.
    """

    def __init__(self, clock: Clock, note: Callable[[Superstep], None]) -> None:
        self._clock = clock
        self._note = note
        self._number = 0
        self._calls: list[ExecutorCall] = []

    def add(self, event: WorkflowEvent[Any], path: str = "") -> None:
        """Take the next event, of the workflow at `path`; those that say nothing of an executor change nothing."""
        if event.type == "superstep_started":
            self._calls.clear()
            self._number = event.iteration or 0
            return
        if event.type == "executor_invoked":
            executor = f"{path}{event.executor_id or ''}"
            self._calls.append(ExecutorCall(executor=executor, began_at=self._clock(), ended_at=0.0))
        elif event.type == "executor_completed":
            self._change(f"{path}{event.executor_id}", ended_at=self._clock())
        elif event.type == "output":
            self._change(f"{path}{event.executor_id}", yielded=1)
        elif event.type == "request_info":
            self._change(f"{path}{event.source_executor_id}", asked=1)
        elif event.type == "executor_failed":
            self._change(f"{path}{event.executor_id}", ended_at=self._clock(), failed=True)
        else:
            return
        self._note(Superstep(number=self._number, calls=tuple(self._calls)))

    def begin(self, number: int) -> None:
        """Begin the superstep of that number; calls that are under way go on in it."""
        self._number = number

    def ended(self, executor: str, *, asked: int = 0, failed: bool = False) -> None:
        """Count questions of an executor's newest call, or end it as failed."""
        self._change(executor, ended_at=self._clock() if failed else 0.0, asked=asked, failed=failed)

    def take_ended(self) -> tuple[ExecutorCall, ...]:
        """Return the calls that have ended, in the order in which they began, and begin the next superstep."""
        ended = tuple(call for call in self._calls if call.ended_at)
        self._calls = [call for call in self._calls if not call.ended_at]
        self._number += 1
        return ended

    def take(self) -> tuple[ExecutorCall, ...]:
        """Return the calls of the superstep, in the order in which they began."""
        now, calls = self._clock(), self._calls
        self._calls = []
        return tuple(call if call.ended_at else call.model_copy(update={"ended_at": now}) for call in calls)

    def _change(
        self, executor: str, *, ended_at: float = 0.0, yielded: int = 0, asked: int = 0, failed: bool = False
    ) -> None:
        for place, call in enumerate(self._calls):
            if call.executor == executor and not call.ended_at:
                counts = {"yielded": call.yielded + yielded, "asked": call.asked + asked}
                self._calls[place] = call.model_copy(update={**counts, "ended_at": ended_at, "failed": failed})
                return
