"""Spans of runs for OpenTelemetry, and the log line at the end of each run. Both have ids, counts and times, no text.

Theory. A run may be executed later than its request, perhaps by another process, perhaps twice. So the trace that it
belongs to is written into the log's first event, as W3C `traceparent`, and each attempt is a span of its own below it.
The agent loop runs in the context of its caller, so the framework's spans of the agent, its model calls and its tool
calls become children of the attempt's. Attributes are the GenAI semantic conventions' where those have one. Errors are
named by their code, because the text of an exception is foreign. Where the app sets up no SDK, spans cost next to
nothing and go nowhere.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hosting.names import Address
from hosting.thread.events import Completed, Terminal
from hosting.thread.run import Run

logger = logging.getLogger(__name__)

_TRACER = trace.get_tracer("hosting")
_W3C = TraceContextTextMapPropagator()
_HEADER = "traceparent"


def log_end(address: Address, terminal: Terminal, run: Run | None) -> None:
    """Log how a run ended, at INFO. Called by the process that appended the end, so once for each run.

    The run waited until its last attempt began, and ran for as long as that one took. Without a `run` nobody held
    it. Tokens are '-' for a model that counts none.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    agent = address.agent if run is None else run.accepted.agent
    claim = None if run is None else run.claim
    began = claim.at if claim is not None else terminal.at
    usage = terminal.entry.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    logger.info(
        "Run %s of agent %s on thread %s: %s; attempts %d, waited %.3f s, ran %.3f s, tokens in %s, out %s.",
        terminal.run_id,
        agent,
        address.thread_id,
        terminal.kind if isinstance(terminal, Completed) else terminal.code,
        0 if run is None else run.attempts,
        0.0 if run is None else began - run.accepted.at,
        terminal.at - began,
        counts.get("inputTokenCount", "-"),
        counts.get("outputTokenCount", "-"),
        extra={"run_id": terminal.run_id, "agent": agent, "thread_id": address.thread_id},
    )


def carried_traceparent(sent: str | None) -> str | None:
    """Return the trace context that a run is to carry: of the span that serves its request, else what its caller sent.

    The serving span is the platform's, or an instrumentation's, and stands below the caller's; one of another trace
    than the caller's is passed over. What is no `traceparent` is ignored, as W3C wants.
    """
    here, caller = trace.get_current_span().get_span_context(), _extracted(sent)
    sent_span = trace.get_current_span(caller).get_span_context()
    carrier: dict[str, str] = {}
    is_below = here.is_valid and (not sent_span.is_valid or here.trace_id == sent_span.trace_id)
    _W3C.inject(carrier, None if is_below else caller)
    return carrier.get(_HEADER)


@contextmanager
def run_span(run: Run) -> Iterator[Span]:
    """Make one attempt a span, current until the end of the block; an exception that leaves it is named by its type."""
    accepted = run.accepted
    with _TRACER.start_as_current_span(
        f"run {accepted.agent}",
        context=_extracted(accepted.traceparent) if accepted.traceparent else None,
        kind=SpanKind.CONSUMER,
        attributes={
            "gen_ai.agent.name": accepted.agent,
            "gen_ai.conversation.id": accepted.thread_id,
            "agent.run.id": accepted.run_id,
            "agent.run.attempt": run.attempts,
        },
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            _fail(span, type(error).__name__)
            raise


def record_outcome(span: Span, terminal: Terminal) -> None:
    """Put on an attempt's span how its run ends."""
    span.set_attribute("agent.run.outcome", terminal.kind)
    if not isinstance(terminal, Completed):
        _fail(span, terminal.code)


def _fail(span: Span, error_type: str) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR))


def _extracted(sent: str | None) -> Context:
    """Return a context that holds the sent span and nothing else, or nothing at all."""
    return _W3C.extract({_HEADER: sent or ""}, Context())
