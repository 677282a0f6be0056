"""The event of OpenTelemetry for feedback: `gen_ai.evaluation.result`, on the trace of the run.

It is reported once, by the process that stored the feedback. A comment is somebody's own text, so it is in the event
only where the app has agent-framework record contents (`ENABLE_SENSITIVE_DATA`).
"""

from __future__ import annotations

from agent_framework.observability import OBSERVABILITY_SETTINGS
from opentelemetry import _logs
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hosting.core.thread.run import Run
from hosting.features.feedback.records import Feedback

NAME = "user_feedback"
"""The name of the evaluation."""


def report_feedback(run: Run, feedback: Feedback) -> None:
    """Report one feedback on a run; without an SDK it goes nowhere."""
    attributes: dict[str, str | float] = {
        "gen_ai.evaluation.name": NAME,
        "gen_ai.evaluation.score.value": feedback.score,
        "gen_ai.agent.name": run.accepted.agent,
        "gen_ai.conversation.id": run.address.entity[1],  # as the run's span has it
        "agent.run.id": run.run_id,
    }
    if feedback.label is not None:
        attributes["gen_ai.evaluation.score.label"] = feedback.label
    if feedback.comment is not None and OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED:
        attributes["gen_ai.evaluation.explanation"] = feedback.comment
    carrier = {"traceparent": run.accepted.traceparent or ""}
    context = TraceContextTextMapPropagator().extract(carrier, Context())
    _logs.get_logger("hosting").emit(
        timestamp=round(feedback.changed_at * 1e9),
        context=context,
        event_name="gen_ai.evaluation.result",
        attributes=attributes,
    )
