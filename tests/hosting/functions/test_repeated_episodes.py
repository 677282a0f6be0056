"""An episode that is made again: the texts that the host hands to an orchestrator, and the calls that it answers.

As the real host does it: an episode's messages are sent before its history is written. Whoever dies between the two
leaves it to be made again, at another time. What continues as new in it, and each sub-orchestration that it starts,
has another execution id then; only an id that a client gave is in the engine before.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import azure.durable_functions as df
import pytest

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of

pytestmark = pytest.mark.behaviour("orchestrations.repeated-episode")

Steps = Generator[Any, Any, Any]
CALL_ENTITY, CALL_CHILD, CALL_CHILD_AGAIN, CONTINUE = 7, 2, 3, 4


def make_app() -> AgentFunctionApp:
    """Return an app whose orchestrations call an agent, continue as new and start each other."""
    app = app_of(scripted_agent("writer"))

    def orchestrator(function: Any) -> None:
        app.orchestration_trigger(context_name="context")(function)

    @orchestrator
    def ask(context: df.DurableOrchestrationContext) -> Steps:
        writer = app.get_agent(context, "writer")
        yield writer.run(f"{context.get_input()}", session=writer.create_session())

    @orchestrator
    def name_it(context: df.DurableOrchestrationContext) -> Steps:
        yield app.get_agent(context, "writer").run(f"{context.new_uuid()} {context.new_guid()}")

    @orchestrator
    def go_on(context: df.DurableOrchestrationContext) -> None:
        context.continue_as_new(context.get_input())

    @orchestrator
    def hand_on(context: df.DurableOrchestrationContext) -> Steps:
        yield context.call_sub_orchestrator("ask", context.get_input())

    @orchestrator
    def insist(context: df.DurableOrchestrationContext) -> Steps:
        options = df.RetryOptions(1, 3)
        yield context.call_sub_orchestrator_with_retry("ask", options, context.get_input())

    return app


@pytest.fixture(scope="module")
def handlers() -> dict[str, Any]:
    """The app's orchestrators, as the worker calls them."""
    functions = make_app().get_functions()
    return {function.get_function_name(): function.get_user_function() for function in functions}


@dataclass(frozen=True)
class Start:
    """How an execution began, and when its episode is made."""

    instance: str = "one"
    execution: str = "e-1"
    stored: str | None = json.dumps("hello")
    generation: int | None = 0
    parent: dict[str, Any] | None = None
    at: str = "2026-11-29T10:43:25.8548173Z"

    def again(self, **changes: Any) -> Start:
        """Return the same start in an episode of another time."""
        return replace(self, at="2026-11-29T10:44:31.1Z", **changes)

    def continued(self, stored: str, execution: str = "e-2") -> Start:
        """Return the execution that this one continues as."""
        return replace(self, execution=execution, stored=stored, generation=None)

    def child(self, stored: str, execution: str = "c-1", task: int = 0) -> Start:
        """Return the sub-orchestration that this one starts as its task of that number."""
        own = {"InstanceId": self.instance, "ExecutionId": self.execution}
        parent = {"Name": "p", "OrchestrationInstance": own, "TaskScheduleId": task, "Version": None}
        return replace(
            self,
            instance=f"{self.execution}:{task}",
            execution=execution,
            stored=stored,
            generation=None,
            parent=parent,
        )

    def payload(self) -> str:
        """Return what the host hands to the orchestrator in the first episode."""
        event = {"EventId": -1, "IsPlayed": False, "Timestamp": self.at}
        started = {
            **event,
            "EventType": 0,
            "OrchestrationInstance": {"InstanceId": self.instance, "ExecutionId": self.execution},
            "ParentInstance": self.parent,
            "Name": "any",
            "Version": None,
            "Input": json.dumps(self.stored),
            "Generation": self.generation,
        }
        return json.dumps(
            {
                "history": [{**event, "EventType": 12}, started],
                "input": self.stored,
                "instanceId": self.instance,
                "isReplaying": False,
                "parentInstanceId": self.parent and self.parent["OrchestrationInstance"]["InstanceId"],
                "upperSchemaVersion": 1,
                "upperSchemaVersionNew": 3,
            }
        )


@dataclass(frozen=True)
class Host:
    """Calls the app's orchestrators."""

    handlers: dict[str, Any]

    def action(self, name: str, start: Start) -> dict[str, Any]:
        """Return the one action that the first episode of an execution answers."""
        ((action,),) = json.loads(self.handlers[name](start.payload()))["actions"]
        (action,) = action.get("compoundActions", [action])  # as one that is retried is sent
        return dict(action)

    def call(self, name: str, start: Start) -> tuple[str, str, str]:
        """Return the thread, the run's id and the message that an execution calls the agent with."""
        action = self.action(name, start)
        assert action["actionType"] == CALL_ENTITY, action
        order = json.loads(action["input"])
        return action["instanceId"], order["correlationId"], order["message"]

    def handed_on(self, name: str, start: Start, kind: int) -> str:
        """Return the input that an execution hands on, as the host stores it."""
        action = self.action(name, start)
        assert action["actionType"] == kind, action
        return str(action["input"])


@pytest.fixture
def host(handlers: dict[str, Any]) -> Host:
    """The app's orchestrators."""
    return Host(handlers)


def test_the_first_episode_made_again_calls_the_same_run(host: Host) -> None:
    """At another time; and another instance, or the same id started anew, has other runs and threads."""
    start = Start()
    others = [Start(instance="two"), Start(execution="e-9"), Start(execution="e-10", generation=1)]

    thread, run, message = call = host.call("ask", start)

    assert message == "hello"
    assert host.call("ask", start.again()) == call
    assert not {thread, run} & {name for other in others for name in host.call("ask", other)[:2]}


def test_what_continues_as_new_in_an_episode_made_again_calls_the_same_run(host: Host) -> None:
    """Its execution has another id then. The next one, of the same input, has a run of its own."""
    first = Start()
    given, again = (host.handed_on("go_on", start, CONTINUE) for start in (first, first.again()))
    second = first.continued(given)
    third = second.continued(host.handed_on("go_on", second, CONTINUE), "e-3")

    call = host.call("ask", second)

    assert host.call("ask", first.again().continued(again, "e-8")) == call
    assert call[2] == "hello" == host.call("ask", third)[2]
    assert len({host.call("ask", start)[1] for start in (first, second, third)}) == 3


@pytest.mark.parametrize(("name", "kind"), [("hand_on", CALL_CHILD), ("insist", CALL_CHILD_AGAIN)])
def test_a_sub_orchestration_of_an_episode_made_again_calls_the_same_run(host: Host, name: str, kind: int) -> None:
    """It is started twice, under two execution ids. Each attempt of one that is retried has a run of its own."""
    parent = Start()
    given, again = (host.handed_on(name, start, kind) for start in (parent, parent.again()))

    call = host.call("ask", parent.child(given))

    assert call[2] == "hello"
    assert host.call("ask", parent.again().child(again, "c-2")) == call
    assert host.call("ask", parent.child(given, task=2))[1] != call[1]
    assert host.call("ask", parent)[1] != call[1]


@pytest.mark.parametrize("stored", [None, "null", "3", '{"input": 1}', '"durable-agents/execution"', '["a"]'])
def test_an_input_is_seen_as_it_was_given(host: Host, stored: str | None) -> None:
    """By the first execution, by what it continues as, and by its sub-orchestration."""
    first = Start(stored=stored)
    second = first.continued(host.handed_on("go_on", first, CONTINUE))
    child = first.child(host.handed_on("hand_on", first, CALL_CHILD))

    assert {host.call("ask", start)[2] for start in (first, second, child)} == {f"{json.loads(stored or 'null')}"}
