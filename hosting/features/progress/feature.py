"""The progress of an app's runs: every agent and workflow has it, and nothing is stored beside the threads' logs."""

from __future__ import annotations

from weakref import ref

from hosting.core.agent.held_run import HeldRun
from hosting.core.hooks import AgentHooks
from hosting.feature import Feature
from hosting.plan import AgentPlan


class ProgressFeature(Feature):
    """The progress of the runs of one app."""

    name = "progress"

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return what takes the progress of an agent's runs."""
        return AgentHooks(report=take)


def take(run: ref[HeldRun], attempt: int, share: float, text: str) -> None:
    """Take a progress of that attempt, from any thread. Raises `LookupError` once the attempt is over."""
    from hosting.features.progress.writer import write_progress

    held = run()
    if held is None or held.is_over.is_set() or held.run.attempts != attempt:
        raise LookupError("This run does not go on here. Its progress is that of its newest attempt.")
    held.loop.call_soon_threadsafe(write_progress, held, attempt, share, text)
