"""The steps of a functional workflow in one attempt of a run: each is recorded before the next one begins.

Theory. The framework runs the function from its beginning in every attempt, and gives it the results of the steps that
its checkpoint has. It saves one after each step: the run's newest event of that kind. The answers to questions are kept
with it, because the function asks again on its way. A step that ended is in it for good.

A step that may not run twice is recorded when it begins too, as a tool call is. One that began and has not ended was
cut off: the run ends by it, or the function learns it. One that raised raises again, and one that the function
cancelled waits to be cancelled again. Steps that a question cut short begin anew in the run after the answer.

Whatever ends the attempt goes past the function's own `except Exception`, so that no step follows it.
"""

from __future__ import annotations

import asyncio
import builtins
import copy
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from typing import Any

from agent_framework import FunctionalWorkflow, WorkflowCheckpoint, WorkflowEvent
from agent_framework._workflows._functional import WorkflowInterrupted
from msgspec import Struct

from hosting.core.agent.agent_runner import Attempt
from hosting.core.agent.framework import FRAMEWORK_VERSION
from hosting.core.agent.framework_graphs import checkpoint_text
from hosting.core.agent.recorded import ReplayedToolError, digest
from hosting.core.agent.step_recorder import AttemptEndedError, StepRecorder
from hosting.core.agent.steps import WITHIN, ExecutorSteps
from hosting.core.thread.events import Checkpointed, ToolResult, ToolStarted
from hosting.core.thread.run import Run
from hosting.errors import CheckpointNotKeptError, RunInterruptedError
from hosting.features.workflows.answer_types import MARKS, original, storable
from hosting.features.workflows.checkpoints import NewestCheckpoint, restored
from hosting.features.workflows.executor_calls import ExecutorCalls
from hosting.features.workflows.requests import responses
from hosting.names import STEP, is_step_key
from hosting.tools import StepCutOffError, ToolCall, enter
from hosting.workflows import HostedWorkflow
from state.portable import portable_text

logger = logging.getLogger(__name__)

_ANSWERS, _AT_REST = "_hosting_answers", "_hosting_at_rest"
"""What a checkpoint's state has besides the framework's: names with `_` are none of the function's own."""


_CANCELLED = asyncio.CancelledError.__name__
"""The class in the record of a step that was cancelled: in a later attempt it waits to be cancelled again."""


class AttemptOverError(BaseException):
    """Takes the attempt out of the workflow's function, which may catch every `Exception`."""


class _Open(Struct):
    """A step that a task has entered, within another one or none. Without a `key` it has no record: it may run again.

    It `is_over` once it has a result or an error; one that is left before was cancelled.
    """

    outer: _Open | None
    name: str = ""
    key: str = ""
    tokens: tuple[Token[Any], ...] = ()
    is_over: bool = False


_OPEN: ContextVar[_Open | None] = ContextVar("open_step", default=None)


class FunctionSteps(NewestCheckpoint):
    """The framework's storage of checkpoints for one attempt, which learns each event as it happens.

    `idempotent` are the names of the steps that may run again, `types` those of the values that may be kept, and
    `errors` the classes that a step may raise, beside Python's own.
    """

    def __init__(
        self,
        hosted: HostedWorkflow,
        recorder: StepRecorder,
        types: frozenset[str],
        idempotent: frozenset[str],
        errors: Mapping[str, type[Exception]],
    ) -> None:
        super().__init__()
        self.is_at_rest = False
        self._hosted = hosted
        self._recorder = recorder
        self._types = types
        self._idempotent = idempotent
        self._errors = errors
        self._calls = ExecutorCalls(recorder.held.clocks.wall, recorder.held.note)
        self._answers: dict[str, Any] = {}
        self._saved = 0
        self._saving = asyncio.Lock()
        steps = (step for step in recorder.held.run.steps if isinstance(step, ToolStarted | ToolResult))
        self._newest = {step.key: step for step in steps if is_step_key(step.key)}
        self._ended: list[ToolResult] = []
        self._is_over = False

    async def restore(self, attempt: Attempt) -> dict[str, Any]:
        """Return how the function is run, with all answers to its questions so far."""
        held, decisions = self._recorder.held, attempt.request.decisions
        if held.run.checkpoint is not None:
            self._restore(held.run, held.run.checkpoint)
        elif decisions:
            before = await held.run_before()
            if before is None or before.checkpoint is None:
                raise CheckpointNotKeptError("The log no longer has the state of the run that asked.")
            self._restore(before, before.checkpoint)
            self._answers |= responses(before.run_id, self.requests, decisions)
            self.is_at_rest, self.requests = False, {}
        self._calls.begin(self._saved + 1)
        if self.restored is None:
            return {}
        return {"checkpoint_id": self.restored.checkpoint_id, "responses": dict(self._answers)}

    def _restore(self, run: Run, event: Checkpointed) -> None:
        self.restored = restored(self._hosted, run, event, self._types)
        self.requests = self.restored.pending_request_info_events
        self._answers = self.restored.state.pop(_ANSWERS, {})
        self.is_at_rest = self.restored.state.pop(_AT_REST, False)
        self._saved = event.superstep

    def watch(self, workflow: FunctionalWorkflow) -> None:
        """Have the steps of the workflow's next run recorded."""
        run_function: Any = workflow._execute
        if self.restored is not None:  # whether it is the same workflow was found out by the app's own digest
            self.restored.graph_signature_hash = workflow.graph_signature_hash

        async def recorded(ctx: Any, message: Any) -> Any:
            self._watch(ctx)
            token = WITHIN.set(ExecutorSteps(self._recorder, self._hosted.name))
            try:
                result = await run_function(ctx, message)
                self._is_over = True
                return result
            except WorkflowInterrupted:
                self.is_at_rest = True
                raise
            finally:
                WITHIN.reset(token)

        workflow._execute = recorded  # type: ignore[method-assign]

    def _watch(self, ctx: Any) -> None:
        """Take each event as it happens, with the key by which the framework knows the step that begins."""
        add, look_up, save = ctx.add_event, ctx._get_cached_result, ctx._on_step_completed
        keys: list[str] = []

        def noted(key: str) -> tuple[bool, Any]:
            keys.append(key)
            return look_up(key)  # type: ignore[no-any-return]

        async def passed_on(event: WorkflowEvent[Any]) -> None:
            looked_up, keys[:] = keys[:], []
            await add(event)
            await self._take(event, looked_up)

        async def saved() -> None:
            with self._kept():
                await save()

        ctx.add_event, ctx._get_cached_result, ctx._on_step_completed = passed_on, noted, saved
        ctx._active_step_tasks = _Entered(self._leave)

    async def _take(self, event: WorkflowEvent[Any], keys: list[str]) -> None:
        step = _OPEN.get()
        if step is None:  # the function's own event
            return
        if event.type == "executor_invoked":
            self._calls.add(event)
            await self._begin(step, event.executor_id or "", keys)
        elif event.type == "executor_completed":
            self._calls.add(event)
            step.is_over = True
            if step.key:  # its record goes with the checkpoint that has its result
                self._ended.append(self._result(step.key))
        elif event.type == "executor_failed":
            self._calls.add(event)
            await self._fail(step, sys.exc_info()[1])
        elif event.type == "request_info":
            self._calls.ended(step.name, asked=1)

    async def _begin(self, step: _Open, name: str, keys: list[str]) -> None:
        """Record that the step begins, unless it may run again, and let its code and its agents know which it is."""
        if self._recorder.cause is not None:
            raise AttemptOverError
        key = _key_of(name, keys)
        number = f"{name}.{digest(key)[:16]}"
        if name not in self._idempotent:
            await self._start(step, name, f"{STEP}{number}", key)
        step.name = name
        held = self._recorder.held
        accepted, call_key = held.run.accepted, f"{held.run_id}-{STEP}{number}"
        call = ToolCall(
            *(accepted.agent, held.address.thread_id, held.run_id, call_key),
            *(accepted.principal, held.address.owner, held.run.thread_key),
            run_context=accepted.request.context,
        )
        step.tokens = (enter(call), WITHIN.set(ExecutorSteps(self._recorder, number)))

    async def _start(self, step: _Open, name: str, record: str, key: str) -> None:
        """Append that the step begins; raise what came of it where an earlier attempt began it."""
        held, newest = self._recorder.held, self._newest.get(record)
        if isinstance(newest, ToolStarted):
            newest = await self._cut_off(name, record)
        if newest is not None and newest.raised == _CANCELLED:
            await asyncio.Event().wait()  # until the function cancels it again
        if newest is not None:
            self._calls.ended(name, failed=True)
            raise _raised(newest, name, self._errors)
        began = ToolStarted(at=held.clocks.wall(), run_id=held.run_id, key=record, name=name, digest=digest(key))
        step.key = record  # a step that is cancelled meanwhile has its record, or is about to
        await self._append_start(began)

    async def _append_start(self, step: ToolStarted | ToolResult) -> None:
        with self._kept():
            await self._recorder.start(step)
        if self._recorder.cause is not None:  # also where another step of the same moment ended the attempt
            raise AttemptOverError

    async def _cut_off(self, name: str, record: str) -> ToolResult:
        """Return the result of a step that began in an earlier attempt, once it is appended."""
        held, recorder = self._recorder.held, self._recorder
        text = "The process ended while this step was running."
        result = ToolResult(at=held.clocks.wall(), run_id=held.run_id, key=record, text=text, interrupted=True)
        if not recorder.reports_unknown_outcomes:
            recorder.ended(
                RunInterruptedError(
                    f"The process ended while step {name!r} was running, and a step is run at most once. It may have "
                    "done its work. If it may run twice, mark it @idempotent."
                )
            )
        await self._append_start(result)
        return result

    def _leave(self) -> None:
        """Leave the newest step of this task. One without an end was cancelled, by the function or by a question."""
        step = _OPEN.get()
        if step is None:
            return
        with suppress(ValueError):  # a task that is thrown away is closed in another context
            for token in reversed(step.tokens):
                token.var.reset(token)
            _OPEN.set(step.outer)
        if step.key and not step.is_over:
            self._ended.append(self._result(step.key, error="", raised=_CANCELLED))

    async def _fail(self, step: _Open, error: BaseException | None) -> None:
        """End the step by its error, which it raises again in every later attempt."""
        if self._recorder.cause is not None:
            raise AttemptOverError
        step.is_over = True
        if step.key:
            logger.warning("Step %s of run %s raised.", step.name, self._recorder.held.run_id, exc_info=True)
            text, kind = portable_text(str(error)), type(error).__name__
            with self._kept():
                await self._recorder.append(self._result(step.key, error=text, raised=kind))

    def _result(self, record: str, **fields: Any) -> ToolResult:
        held = self._recorder.held
        return ToolResult(at=held.clocks.wall(), run_id=held.run_id, key=record, **fields)

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Append the checkpoint with the ends of its steps. The function's end needs none, unless steps have raised."""
        ended, self._ended = self._ended, []
        calls = self._calls.take_ended()
        if self._is_over and not calls:
            return checkpoint.checkpoint_id
        with self._kept():
            if self.is_at_rest:
                calls += self._calls.take()
            own = {name: value for name, value in checkpoint.state.items() if not name.startswith("_")}
            kept = {_ANSWERS: self._answers, _AT_REST: self.is_at_rest}
            # The function may change its state while it is written, and another step may end and save before.
            checkpoint.state = {**checkpoint.state, **copy.deepcopy(own), **kept}
            checkpoint.pending_request_info_events = storable(checkpoint.pending_request_info_events)
            async with self._saving:
                await self._append(checkpoint, ended, calls)
        if self.is_at_rest:
            self.requests = original(checkpoint.pending_request_info_events)
        return checkpoint.checkpoint_id

    async def _append(self, checkpoint: WorkflowCheckpoint, ended: list[ToolResult], calls: tuple[Any, ...]) -> None:
        held = self._recorder.held
        text = await asyncio.to_thread(checkpoint_text, checkpoint, self._types | MARKS)
        self._saved += 1
        event = Checkpointed(
            at=held.clocks.wall(),
            run_id=held.run_id,
            superstep=self._saved,
            framework=FRAMEWORK_VERSION,
            graph=self._hosted.graph,
            checkpoint=text,
            updates=[],
            values=[],
            calls=calls,
        )
        await self._recorder.append(*ended, event)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """End the attempt where something cannot be recorded in the block."""
        try:
            yield
        except AttemptEndedError as error:
            raise AttemptOverError from error
        except Exception as error:
            held = self._recorder.held
            logger.exception("A step of run %s cannot be stored.", held.run_id)
            self._recorder.ended(
                CheckpointNotKeptError(
                    f"The result of a step of workflow {self._hosted.name!r}, or its state, cannot be stored; the log "
                    f"has the cause at run {held.run_id}. Let steps return JSON values, or dataclasses, Pydantic "
                    "models and enums of their own modules, or register the types (register_checkpoint_type)."
                )
            )
            raise AttemptOverError from error


class _Entered(dict[Any, int]):
    """The framework's count of the steps that each task is in, which learns each that is entered or left.

    No event says that a step was cancelled. It is left by this count in any case.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        super().__init__()
        self._leave = leave

    def __setitem__(self, task: Any, steps: int) -> None:
        is_left = steps < self.get(task, 0)
        super().__setitem__(task, steps)
        if is_left:
            self._leave()
        else:
            _OPEN.set(_Open(_OPEN.get()))

    def __delitem__(self, task: Any) -> None:
        super().__delitem__(task)
        self._leave()


def _key_of(name: str, looked_up: list[str]) -> str:
    """Return the framework's key of the step: by its arguments where they have one, else by its order."""
    *others, last = looked_up or [name]
    by_arguments = others[-1] if others else ""
    return by_arguments if json.dumps(name, ensure_ascii=False) in by_arguments else last


def _raised(result: ToolResult, name: str, errors: Mapping[str, type[Exception]]) -> Exception:
    """Return what the step raises in place of its result: the error of an earlier attempt, in its own class."""
    if result.interrupted:
        return StepCutOffError(f"The process ended while step {name!r} was running. It may have done its work.")
    kind = errors.get(result.raised) or getattr(builtins, result.raised, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with suppress(Exception):  # its own code runs here, and may want more than a text
            return kind(result.error)
    return ReplayedToolError(result.error)
