"""Spans of runs for OpenTelemetry. Where the app sets up no SDK they cost next to nothing and go nowhere.

Theory. A run is executed by an entity: later than its request, perhaps by another process, perhaps twice. So the trace
that it belongs to is written into the log's first event, as W3C `traceparent`, and each attempt is a span of its own
below it. The agent loop runs in the context of whoever asked it to (`loop`), so the framework's spans of the agent, of
model calls and of tool calls are children of the attempt's without a word between us. Attributes are the GenAI
semantic conventions' where they have one; ids, numbers and codes only, never a text. Errors are given by their code:
the text of an exception is foreign.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hosting.process.run_line import outcome_of
from hosting.run_record import RunRecord
from hosting.thread.events import Completed

_TRACER = trace.get_tracer("hosting")
_W3C = TraceContextTextMapPropagator()
_HEADER = "traceparent"


def carried_traceparent(sent: str | None) -> str | None:
    """Return the trace context that a run is to carry: of the span that serves its request, else what its caller sent.

    The serving span is the platform's, or an instrumentation's, and stands below the caller's; one of another trace
    than the caller's is passed over. What is no `traceparent` is ignored, as W3C wants.
    """
    here, caller = trace.get_current_span().get_span_context(), _extracted(sent)
    asked = trace.get_current_span(caller).get_span_context()
    carrier: dict[str, str] = {}
    is_below = here.is_valid and (not asked.is_valid or here.trace_id == asked.trace_id)
    _W3C.inject(carrier, None if is_below else caller)
    return carrier.get(_HEADER)


@contextmanager
def run_span(record: RunRecord) -> Iterator[Span]:
    """Make one attempt a span, current until the end of the block; an exception that leaves it is named by its type."""
    accepted = record.accepted
    with _TRACER.start_as_current_span(
        f"run {accepted.agent}",
        context=_extracted(accepted.traceparent) if accepted.traceparent else None,
        kind=SpanKind.CONSUMER,
        attributes={
            "gen_ai.agent.name": accepted.agent,
            "gen_ai.conversation.id": accepted.thread_id,
            "agent.run.id": accepted.run_id,
            "agent.run.attempt": record.attempts,
        },
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            _fail(span, type(error).__name__)
            raise


def tell_outcome(span: Span, record: RunRecord) -> None:
    """Put on an attempt's span how its run ended, if it has."""
    terminal = record.terminal
    if terminal is None:
        return
    span.set_attribute("agent.run.outcome", terminal.kind)
    if not isinstance(terminal, Completed):
        _fail(span, outcome_of(terminal))


def _fail(span: Span, error_type: str) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR))


def _extracted(sent: str | None) -> Context:
    """Return a context that holds the sent span and nothing else, or nothing at all."""
    return _W3C.extract({_HEADER: sent or ""}, Context())
