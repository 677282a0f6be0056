"""The steps of a run, each with its time and its length: a fold of the run's events.

Theory. The log has the end of each model call, not its start: a call starts with its attempt, or with the last result
that it waited for. The call that gave the answer has no event of its own and gets the rest of the run's tokens. Text
that a later attempt replaced had been sent, so it is a step too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hosting.amounts import cost_text
from hosting.core.outcome import Usage, shown_usage, usage_of
from hosting.core.thread import events
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run, common_length, is_of, under_way, with_delta
from hosting.core.thread.run_request import ExecutorCall, Superstep, messages_text
from hosting.core.thread.usage import NOTHING, RECORDED_COUNTS, SHOWN_COUNTS, TokenTotals, entry_counts
from hosting.core.transcript import CalledTool, CalledTools
from hosting.http.run_text import progress_of, status_of
from hosting.http.timeline_steps import RunTimeline, TimelineStep
from hosting.names import STEP, is_step_key
from hosting.ports import iso


def timeline_fields(
    run: Run,
    numbered: Iterable[tuple[int, events.Event]],
    superstep: Superstep | None = None,
    *,
    continues: str | None = None,
    notifies: bool = False,
    names_causes: bool = False,
) -> RunTimeline:
    """Return the run's timeline; `numbered` are the events of its thread from the run's first on.

    `superstep` is that of a workflow, while it is under way. `notifies`: its agent has a webhook. `names_causes`: it
    is read by the app's developer.
    """
    timeline = _Timeline(run, names_causes=names_causes)
    for position, event in numbered:
        if is_of(event, run.run_id):
            timeline.add(position, event)
    if (superstep := under_way(run, superstep)) is not None:
        timeline.add_calls(superstep.number, superstep.calls, None)
    end = run.end
    has_receiver = end.notifies if end is not None else run.accepted.request.notifies == "address"
    shown: RunTimeline = {
        "thread_id": run.accepted.thread_id,
        "session_id": run.accepted.thread_id,
        "run_id": run.run_id,
        "correlation_id": run.run_id,
        "status": status_of(run),
        "created_at": iso(run.accepted.at),
        "ended_at": None if end is None else iso(end.at),
        "usage": usage_of(end) if end is not None else shown_usage(timeline.used.stored()),
        "finish_reason": finish_reason(end),
        "incomplete": is_incomplete(end),
        "notifies": notifies or has_receiver,
        "steps": timeline.steps,
    }
    if begun_by := (run.accepted.wire or {}).get(BEGUN_BY):
        shown["begun_by"] = begun_by
    if continues is not None:
        shown["continues"] = continues
    if progress := progress_of(run).get("progress"):
        shown["progress"] = progress
    if cost := timeline.used.cost if end is None else end.cost:
        shown["cost"] = cost_text(cost)
    return shown


def executor_fields(call: ExecutorCall) -> dict[str, Any]:
    """Return when an executor worked, and how often it yielded an output and asked a person."""
    return {
        "at": iso(call.began_at),
        "ended_at": iso(call.ended_at),
        "yielded": call.yielded,
        "asked": call.asked,
    }


TASK, BEGUN_BY = "background_task", "begun_by"
"""The property of a tool's result that names the task it began, and the member of a run that names what began it."""
ASKS = "asks"
"""The code of a tool call that ended with a question to a person."""
CUT_OFF = "cut_off"
"""The code of a tool call whose attempt ended while the tool was running."""
_CUT_OFF_DETAIL = "The attempt ended while the tool was running. It may have done its work."


class _Timeline:
    """The fold: its steps so far, the usage in them, and the steps that the next event may belong to."""

    def __init__(self, run: Run, *, names_causes: bool) -> None:
        self.steps: list[TimelineStep] = []
        self._run = run.begun
        self._attempt: TimelineStep | None = None
        self._calls = CalledTools(names_causes=names_causes)
        self._tools: dict[str, TimelineStep] = {}
        self._ready_at: dict[str, float] = {}
        self._spent: dict[str, int] = {}
        self._thoughts, self._assigned = "", 0
        self._paused: TimelineStep | None = None
        self.used = NOTHING
        self._number = 0

    def add(self, position: int, event: events.Event) -> None:
        """Fold one event more."""
        text, self._run = self._run.text, self._run.after(position, event)
        self._thoughts = self._thoughts_after(event)
        if voided := text[common_length(text, self._run.text) :]:
            self._step("voided", event.at, text=voided)
        if self._paused is not None and not (self._run.paused and self._run.end is None):
            self._paused["ended_at"], self._paused = iso(event.at), None
        match event:
            case events.Accepted() | events.CancelRequested() | events.Paused():
                self._step(event.kind, event.at)
            case events.Claimed():
                self._use(event.unrecorded)
                self._leave_attempt(event.at, event.failed or "lost")
                self._attempt = self._step("attempt", event.at, attempt=event.attempt, holder=event.holder)
                self._ready_at = {"": event.at}
            case events.Released():
                self._use(event.unrecorded)
                self._leave_attempt(event.at, "released")
            case events.ModelResult():
                self._model_call(event)
            case events.Checkpointed():
                self.add_calls(event.superstep, event.calls, event.at)
            case events.ToolStarted() | events.ToolResult():
                self._tool(event)
            case events.ApprovalAnswered():
                self._decision(event)
            case events.Completed():
                self._answer(event)
                self._leave_asking(event)
                self._leave_attempt(event.at, None)
                self._step("ended", event.at, status="success")
            case events.Joined():
                self._joined(event)
            case events.Failed() | events.TimedOut() | events.Cancelled():
                self._unanswered(event)

    def _thoughts_after(self, event: events.Event) -> str:
        """Return the thoughts after an event; a later attempt thinks anew since the newest answer of the model."""
        if isinstance(event, events.Thought):
            return with_delta(self._thoughts, event.offset, event.text)
        return self._thoughts[: self._assigned] if isinstance(event, events.Claimed) else self._thoughts

    def add_calls(self, superstep: int, calls: Iterable[ExecutorCall], until: float | None) -> None:
        """Add the executors' steps of a superstep; running ones end with it."""
        for call in calls:
            step = self._step("executor", call.began_at, executor=call.executor, superstep=superstep)
            step.update(executor_fields(call))  # type: ignore[typeddict-item]
            if not call.ended_at:
                step["ended_at"] = None if until is None else iso(until)
            if call.failed:
                step["error"] = "The executor failed."

    def _step(self, kind: Any, at: float, **fields: Any) -> TimelineStep:
        step: TimelineStep = {"kind": kind, "at": iso(at), "ended_at": iso(at), **fields}  # type: ignore[typeddict-item]
        self.steps.append(step)
        if kind in ("attempt", "tool_call", "tool_step", "paused"):
            step["ended_at"] = None
        self._paused = step if kind == "paused" else self._paused
        return step

    def _decision(self, event: events.ApprovalAnswered) -> None:
        decision, by = event.decision, event.principal
        step = self._step("approval_answered", event.at, id=decision.id, approved=decision.approved)
        for asked in (asked for asked in self._run.requested_approvals if asked.id == decision.id):
            step["tool"], step["arguments"] = asked.tool, asked.arguments
        if decision.value is not None:
            step["value"] = json.loads(decision.value)
        if decision.default:
            step["default"] = True
        if decision.arguments is not None:
            step["edited_arguments"] = json.loads(decision.arguments)
        if decision.reason is not None:
            step["reason"] = decision.reason
        if by is not None:
            step["by"] = {"issuer": by.issuer, "id": by.id, "name": by.name}

    def _unanswered(self, event: events.NoAnswer) -> None:
        if event.under_way is not None:
            self.add_calls(event.under_way.number, event.under_way.calls, event.at)
        self._use(_totals(usage_of(event), event.cost).beyond(self.used))
        self._leave_attempt(event.at, event.code)
        self._step("ended", event.at, status=event.kind, code=event.code, error=event.detail)

    def _joined(self, event: events.Joined) -> None:
        if event.run_id == self._run.run_id:
            self._step("ended", event.at, status="joined", joined=event.into)
        else:
            self._step("message_joined", event.at, id=event.run_id, text=messages_text(event.messages))

    def _leave_attempt(self, at: float, code: str | None) -> None:
        """End the attempt that goes on, and with it the tools that it left at work."""
        if self._attempt is None:
            return
        self._attempt["ended_at"] = iso(at)
        if code is not None:
            self._attempt["code"] = code
        self._attempt = None
        for call in self._tools.values():
            if call["ended_at"] is None:
                call["ended_at"], call["code"], call["error"] = iso(at), CUT_OFF, _CUT_OFF_DETAIL

    def _leave_asking(self, event: events.Completed) -> None:
        """End the calls whose tools ask a person: they are made again after the answer."""
        asking = {approval.tool for approval in event.approvals if approval.kind in ("ask", "authorization")}
        for call in self._tools.values():
            if call["ended_at"] is None and call.get("tool") in asking:
                call["ended_at"], call["code"] = iso(event.at), ASKS

    def _use(self, unrecorded: Mapping[str, int]) -> None:
        """Set the usage of the current attempt besides its steps, from the head: its answers were dropped."""
        if self._attempt is None or not unrecorded:
            return
        more = NOTHING.with_all(unrecorded)
        self.used = self.used.with_all(unrecorded)
        self._attempt["usage"] = shown_usage(more.stored())
        if more.cost:
            self._attempt["cost"] = cost_text(more.cost)

    def _model_call(self, event: events.ModelResult) -> None:
        usage = _counts(event.response.get("usage_details"))
        if not event.within:
            self._number = event.number
            for name, count in usage.items():
                self._spent[name] = self._spent.get(name, 0) + count
        tools = [call.tool for call in self._calls.asked(event)]
        self._model_step(event, event.key, usage, tools, event.within)
        self.used = self.used.with_all(_totals(usage, 0).model_dump())
        self._price(event.response.get("model"), event.cost)

    def _model_step(
        self, event: events.ModelResult | events.Completed, key: str, usage: Any, tools: list[str], within: str
    ) -> None:
        step = self._step("model_call", self._ready_at.get(within, event.at), id=key, tools=tools, usage=usage)
        step["ended_at"] = iso(event.at)
        if (reason := finish_reason(event)) is not None:
            step["finish_reason"] = reason
        if is_incomplete(event):
            step["incomplete"] = True
        if not within and (thoughts := self._thoughts[self._assigned :]):
            step["reasoning"], self._assigned = thoughts, len(self._thoughts)
        self._ready_at[within] = event.at

    def _tool(self, event: events.ToolStarted | events.ToolResult) -> None:
        """Begin or end a tool's call, or a step of its code."""
        if is_step_key(event.key):
            self._tool_step(event)
        elif isinstance(event, events.ToolStarted):
            self._tool_call(self._calls.of(event), event.at)
        else:
            self._tool_result(event)

    def _tool_call(self, call: CalledTool, at: float) -> TimelineStep:
        step = self._tools[call.key] = self._step(
            "tool_call", at, id=call.key, tool=call.tool, arguments=call.arguments
        )
        self._ready_at[call.key] = at
        return step

    def _tool_result(self, event: events.ToolResult) -> None:
        call, within = self._calls.of(event), event.key.rpartition("/")[0]
        step = self._tools.get(call.key)
        if step is None or (step["ended_at"] is not None and not event.interrupted):  # its begin was not recorded
            step = self._tool_call(call, self._ready_at.get(within, event.at))
        _end(step, event, call)
        for content in event.contents or ():
            if task := (content.get("additional_properties") or {}).get(TASK):
                step["task"] = task
        self._ready_at[within] = event.at

    def _tool_step(self, event: events.ToolStarted | events.ToolResult) -> None:
        """Begin or end a step of a tool's code; a workflow's own steps have no call."""
        if isinstance(event, events.ToolStarted):
            call = event.key.removeprefix(STEP).removesuffix(f"/{event.name}")
            if call in self._tools:
                self._tools[event.key] = self._step("tool_step", event.at, call=call, name=event.name)
        elif (step := self._tools.get(event.key)) is not None:
            _end(step, event, self._calls.of(event))

    def _answer(self, event: events.Completed) -> None:
        """Add the model call that gave the answer: it took the tokens that no other one did."""
        counted = shown_usage(entry_counts(event.entry))
        counts = {name: count - self._spent.get(name, 0) for name, count in _counts(counted).items()}
        usage = {name: count for name, count in counts.items() if count > 0}
        self._model_step(event, str(self._number + 1), usage, [], "")
        self._price(event.model, event.cost - self.used.cost)

    def _price(self, model: object, cost: int) -> None:
        """Set the model of the newest step, and its cost, if known."""
        if isinstance(model, str) and model:
            self.steps[-1]["model"] = model
        if cost > 0:
            self.steps[-1]["cost"] = cost_text(cost)
            self.used = self.used.with_all({"cost": cost})


def _end(step: TimelineStep, event: events.ToolResult, call: CalledTool) -> None:
    step["ended_at"] = step["ended_at"] or iso(event.at)
    step.update(call.outcome)  # type: ignore[typeddict-item]
    if event.interrupted:
        step["code"] = CUT_OFF


def _counts(usage: object) -> dict[str, int]:
    """Return the token counts among these values, by the names that callers see."""
    found = usage if isinstance(usage, Mapping) else {}
    return {name: found[name] for name in SHOWN_COUNTS.values() if type(found.get(name)) is int}


def _totals(usage: Usage | Mapping[str, int], cost: int) -> TokenTotals:
    counted = NOTHING.plus(dict(usage), RECORDED_COUNTS)
    return counted.with_all({"cost": cost, "estimated_tokens": usage.get("estimated_token_count", 0)})
