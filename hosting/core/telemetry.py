"""Spans and metrics of runs for OpenTelemetry, and the log line at the end of each: ids, counts and times, no text.

Theory. A run may be executed later than its request, perhaps by another process, perhaps twice. So the trace that it
belongs to is written into the log's first event, as W3C `traceparent`, and each attempt is a span of its own below it.
The agent loop runs in the context of its caller, so the framework's spans of the agent, its model calls and its tool
calls become children of the attempt's. Attributes are the GenAI semantic conventions' where those have one. Errors are
named by their code, because the text of an exception is foreign. Where the app sets up no SDK, spans and metrics cost
next to nothing and go nowhere.

A metric is counted by the process that appended what it counts, so their sum over all processes counts each run once.
What models use, and how long their calls take, the framework measures by the conventions' own names.

No process knows all runs that wait. But whoever waits for one reads its thread's head every other second, its caller's
process or its entity's. So each process observes the oldest of those that it saw wait, and the largest of what all
processes observe is the age. Nothing is read for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar
from weakref import WeakSet

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hosting.amounts import cost_text
from hosting.core.thread.events import TERMINALS, Accepted, Completed, Joined, Terminal
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.names import Address
from hosting.ports import Clocks

logger = logging.getLogger(__name__)

_AGENT, _OUTCOME, _ERROR, _PAID = "gen_ai.agent.name", "agent.run.outcome", "error.type", "agent.run.cost"
_TRACER = trace.get_tracer("hosting")
_METER = metrics.get_meter("hosting")
_REQUESTS = _METER.create_counter("agent.run.requests", "{run}", "Runs that were accepted")
_ACTIVE = _METER.create_up_down_counter("agent.run.active", "{run}", "Runs in progress in this process")
_ATTEMPTS = _METER.create_counter("agent.run.attempts", "{attempt}", "Attempts that were started")
_ENDED = _METER.create_counter("agent.run.ended", "{run}", "Runs that ended, also without an attempt")
_WAIT = _METER.create_histogram("agent.run.wait", "s", "From a run's request to its first attempt")
_DURATION = _METER.create_histogram("agent.run.duration", "s", "From a run's request to its end")
_COST = _METER.create_counter(_PAID, "1", "Cost of runs, by the prices of their agent's budget")
_W3C = TraceContextTextMapPropagator()
_HEADER = "traceparent"
_LEAST_WAIT_SECONDS, _SEEN_SECONDS = 1.0, 60.0
"""The age at which a run counts as waiting, and the time for which it is observed."""


class QueuedRuns:
    """How long the runs of these agents waited that this process saw wait lately; observed from its making on.

    `names` are those of the agents by the same in lower case. `seen` has threads with such runs: each of their heads is
    to be seen, and of other threads those with runs that wait.
    """

    _all: ClassVar[WeakSet[QueuedRuns]] = WeakSet()

    def __init__(self, clocks: Clocks, names: Mapping[str, str]) -> None:
        self._clocks = clocks
        self._names = names
        self.seen: dict[Address, tuple[float, float]] = {}
        self._all.add(self)

    def see(self, address: Address, head: Head) -> None:
        """Note the thread's waiting run, by the head as the store has it now."""
        self.seen.pop(address, None)
        if not head.queued:
            return
        seconds, now = self._clocks.wall() - min(run.at for run in head.queued), self._clocks.awake()
        while self.seen and now - next(iter(self.seen.values()))[0] > _SEEN_SECONDS:
            del self.seen[next(iter(self.seen))]
        if seconds >= _LEAST_WAIT_SECONDS:
            self.seen[address] = now, seconds

    def oldest(self) -> dict[str, float]:
        """Return by each agent's name how long the oldest of its runs waited when it was seen; 0 where none did."""
        since, seen = self._clocks.awake() - _SEEN_SECONDS, self.seen.copy().items()  # an exporter has its own thread
        return {
            name: max((age for one, (at, age) in seen if one.agent == agent and at >= since), default=0.0)
            for agent, name in tuple(self._names.items())
        }

    @classmethod
    def observed(cls, options: CallbackOptions) -> Iterable[Observation]:
        """Yield the age of each agent's oldest queued run, over all apps of the process."""
        ages: dict[str, float] = {}
        for runs in list(cls._all):
            for name, seconds in runs.oldest().items():
                ages[name] = max(seconds, ages.get(name, 0.0))
        return [Observation(seconds, {_AGENT: name}) for name, seconds in ages.items()]


_METER.create_observable_gauge(
    "agent.run.oldest_queued_age",
    [QueuedRuns.observed],
    "s",
    "Age of the oldest queued run, of those that this process saw in the last minute",
)


REPORTED = (Accepted, *TERMINALS)
"""The events of a run that are reported as they are appended."""


def report(agent: str, address: Address, event: Accepted | Terminal, run: Run | None) -> None:
    """Count a run's beginning, or count its end and log it at INFO. Called by the process that appended it, so once.

    Without a `run` nobody held it here, and how long it took is not known. It ran for as long as processes had it, in
    all its attempts, and waited for the rest. Tokens are `-` for a model that counts none. `agent` is the name.
    """
    if isinstance(event, Accepted):
        _REQUESTS.add(1, {_AGENT: agent})
        return
    if logger.isEnabledFor(logging.INFO):
        claim = None if run is None else run.claim
        began = claim.at - claim.worked if claim is not None else event.at
        usage = event.usage or event.entry.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        logger.info(
            "Run %s of agent %s on thread %s: %s; attempts %d, waited %.3f s, ran %.3f s, tokens in %s, out %s.",
            event.run_id,
            agent,
            address.thread_id,
            event.kind if isinstance(event, Completed) else event.code,
            0 if run is None else run.attempts,
            0.0 if run is None else began - run.accepted.at,
            event.at - began,
            counts.get("inputTokenCount", "-"),
            counts.get("outputTokenCount", "-"),
            extra={"run_id": event.run_id, "agent": agent, "thread_id": address.thread_id, "owner": address.owner},
        )
    ended = {_AGENT: agent, _OUTCOME: event.kind}
    if not isinstance(event, Completed | Joined):
        ended[_ERROR] = event.code
    _ENDED.add(1, ended)
    if run is None:
        return
    _DURATION.record(max(0.0, event.at - run.accepted.at), ended)
    if event.cost:
        _COST.add(float(cost_text(event.cost)), {_AGENT: agent})


def carried_traceparent(sent: str | None) -> str | None:
    """Return the trace context for a run: of the span that serves its request, else the caller's.

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
    """Make one attempt a span, current until the end of the block; an exception that leaves it is named by its type.

    The attempt is counted too, by its cause.
    """
    accepted, claim = run.accepted, run.claim
    agent = {_AGENT: accepted.agent}
    _ATTEMPTS.add(1, {**agent, "agent.run.attempt.cause": run.cause})
    if run.attempts == 1 and claim is not None:
        _WAIT.record(max(0.0, claim.at - accepted.at), agent)
    _ACTIVE.add(1, agent)
    with _TRACER.start_as_current_span(
        f"run {accepted.agent}",
        context=_extracted(accepted.traceparent) if accepted.traceparent else None,
        kind=SpanKind.CONSUMER,
        attributes={
            **agent,
            "gen_ai.conversation.id": run.address.entity[1],  # with the owner, where that is a person
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
        finally:
            _ACTIVE.add(-1, agent)


def record_outcome(span: Span, terminal: Terminal) -> None:
    """Put the end and the cost of a run, in all its attempts, on an attempt's span."""
    span.set_attribute(_OUTCOME, terminal.kind)
    if terminal.cost:
        span.set_attribute(_PAID, float(cost_text(terminal.cost)))
    if not isinstance(terminal, Completed):
        _fail(span, terminal.code)


def _fail(span: Span, error_type: str) -> None:
    span.set_attribute(_ERROR, error_type)
    span.set_status(Status(StatusCode.ERROR))


def _extracted(sent: str | None) -> Context:
    """Return a context that holds the sent span and nothing else, or nothing at all."""
    return _W3C.extract({_HEADER: sent or ""}, Context())
