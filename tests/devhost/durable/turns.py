"""The pure core by hand: an instance whose orchestrator's answers the test writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from devhost.durable.actions import Action
from devhost.durable.answers import OrchestratorAnswer
from devhost.durable.ending import Turn
from devhost.durable.events import Event, ExecutionStarted
from devhost.durable.intake import new_orchestration
from devhost.durable.missing import FunctionNames
from devhost.durable.records import EventMessage
from devhost.durable.turn import Broken, close_episode, open_episode, terminate_episode
from tests.devhost.durable.clocks import START

NAMES: FunctionNames = {
    "orchestrator": {"main": "main", "child": "child"},
    "activity": {"a": "A", "b": "B"},
    "entity": {"counter": "Counter"},
}


def started(name: str = "main") -> ExecutionStarted:
    """Return the start of instance `i`, execution `e`."""
    return ExecutionStarted(timestamp=START, instance_id="i", execution_id="e", name=name, input='"in"', generation=0)


class Turns:
    """Plays episodes one second apart, keeping record and history as the engine would."""

    def __init__(self) -> None:
        self.orchestration = new_orchestration(started())
        self.history: tuple[Event, ...] = ()
        self._seconds = 0

    def play(self, inbox: list[Event], answer: OrchestratorAnswer | Broken) -> Turn:
        """Run one episode; returns what it changed."""
        self._seconds += 1
        now = START + timedelta(seconds=self._seconds)
        episode = open_episode(self.orchestration, self.history, inbox, now)
        if episode.termination is not None:
            turn = terminate_episode(episode, episode.termination, now)
        else:
            turn = close_episode(episode, answer, NAMES, now, "e2")
        self.orchestration = turn.orchestration
        self.history = turn.history.events if turn.history.is_new else self.history + turn.history.events
        return turn

    def start(self, *actions: Action) -> Turn:
        """Run the first episode, which answers these actions."""
        return self.play([started()], OrchestratorAnswer(actions))

    def event_names(self) -> list[str]:
        return [type(event).__name__ for event in self.history]


def done(*actions: Action, output: str | None = None) -> OrchestratorAnswer:
    """Return the answer of an orchestrator that has returned."""
    return OrchestratorAnswer(actions, is_done=True, output=output)


def events_of(turn: Turn) -> list[Event]:
    """Return the events that a turn sends."""
    return [sent.body.event for sent in turn.outgoing if isinstance(sent.body, EventMessage)]


def at(event: Event, seconds: float) -> Event:
    """Return the event at another time."""
    return replace(event, timestamp=START + timedelta(seconds=seconds))
