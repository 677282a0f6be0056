"""Steps that do not fit into an attempt of a run: made again with more time, or the end of the run."""

from __future__ import annotations

from hosting.core.agent.held_run import HeldRun
from hosting.core.thread.events import ModelResult, Step, ToolResult, ToolStarted
from hosting.errors import RunTimedOutError


def end_in_time(held: HeldRun, error: RunTimedOutError) -> RunTimedOutError:
    """Return the end of a run that was stopped at its limit, by `error`, or in a step that takes too long.

    Raises `DrainingError` if the time of this attempt alone is up and its step can be made again with all of another's:
    no call is cut off that is made at most once, and it was not the first step here.
    """
    if held.until <= held.stops_at:
        return error
    newly = held.run.steps[len(held.as_claimed.steps) :]
    has_progress = held.run.checkpoint is not held.as_claimed.checkpoint or any(map(_is_result, newly))
    if has_progress and held.at_most_once.isdisjoint(held.at_work):
        raise held.left()
    names = {step.name for step in newly if isinstance(step, ToolStarted) and step.key in held.at_work}
    step = f"a call of tool {min(names)!r}" if names else "a step"
    return RunTimedOutError(
        f"Agent {held.run.accepted.agent!r} was stopped in {step} that takes longer than an attempt of a run may. Have "
        "a tool begin such work as an orchestration or a background task, or raise functionTimeout in host.json."
    )


def _is_result(step: Step) -> bool:
    return isinstance(step, ModelResult | ToolResult)
