"""The pure core by hand: an instance whose orchestrator's answers the test writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from devhost.durable.answers import Action, OrchestratorAnswer
from devhost.durable.episode import (
    Broken,
    EpisodeOutcome,
    close_episode,
    open_episode,
    terminate_episode,
)
from devhost.durable.events import Event, ExecutionStarted
from devhost.durable.intake import new_orchestration
from devhost.durable.records import EventMessage
from devhost.ports import FunctionNames
from tests.support.engine_clocks import START

NAMES: FunctionNames = {
    "orchestrator": {"main": "main", "child": "child"},
    "activity": {"a": "A", "b": "B"},
    "entity": {"counter": "Counter"},
}


def started(name: str = "main") -> ExecutionStarted:
    """Return the start of instance `i`, execution `e`."""
    return ExecutionStarted(timestamp=START, instance_id="i", execution_id="e", name=name, input='"in"', generation=0)


class Episodes:
    """Plays episodes one second apart, keeping record and history as the engine would."""

    def __init__(self) -> None:
        self.orchestration = new_orchestration(started())
        self.history: tuple[Event, ...] = ()
        self._seconds = 0

    def play(self, inbox: list[Event], answer: OrchestratorAnswer | Broken) -> EpisodeOutcome:
        """Run one episode; returns what it changed."""
        self._seconds += 1
        now = START + timedelta(seconds=self._seconds)
        episode = open_episode(self.orchestration, self.history, inbox, now)
        if episode.termination is not None:
            outcome = terminate_episode(episode, episode.termination, now)
        else:
            outcome = close_episode(episode, answer, NAMES, now, "e2")
        self.orchestration = outcome.orchestration
        self.history = outcome.history.events if outcome.history.is_new else self.history + outcome.history.events
        return outcome

    def start(self, *actions: Action) -> EpisodeOutcome:
        """Run the first episode, which answers these actions."""
        return self.play([started()], OrchestratorAnswer(actions))

    def event_names(self) -> list[str]:
        return [type(event).__name__ for event in self.history]


def done(*actions: Action, output: str | None = None) -> OrchestratorAnswer:
    """Return the answer of an orchestrator that has returned."""
    return OrchestratorAnswer(actions, is_done=True, output=output)


def events_of(outcome: EpisodeOutcome) -> list[Event]:
    """Return the events that an episode sends."""
    return [sent.body.event for sent in outcome.outgoing if isinstance(sent.body, EventMessage)]


def at(event: Event, seconds: float) -> Event:
    """Return the event at another time."""
    return replace(event, timestamp=START + timedelta(seconds=seconds))
