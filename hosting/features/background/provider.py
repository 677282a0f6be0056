"""`BackgroundAgentsProvider` with durable tasks: the framework's own tools, over runs that the log has.

Theory. The framework's tools decide and answer, from the state in the session and from the tasks of their process. Here
the tasks of a process are made of the log before each call: a run that has ended is a task that is done. And where a
tool starts a task, its agent only notes what it was asked; the run is begun behind the tool's answer and before the
model gets that. So names, schemas and answers are the framework's, of whichever version.

Each tool may be called again: a call that begins a run begins it under its own key. Calls of one moment take turns, so
that a task has the number that it has plain.

Before each run the model gets the states of the tasks. It must get the same in a later attempt, so these are their
states when the run was accepted.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial, wraps
from typing import Any

from agent_framework import (
    AgentResponse,
    AgentSession,
    BackgroundAgentsProvider,
    Content,
    ContextProvider,
    FunctionTool,
    SessionContext,
)

from hosting.core.agent.framework import agents_within
from hosting.core.agent.held_run import HeldRun
from hosting.core.thread.events import Cancelled, Completed
from hosting.core.thread.run import Run
from hosting.features.background.tasks import BackgroundTasks, TaskRun, key_of_call
from hosting.http.timeline import TASK
from hosting.orchestrations import ENGINE
from hosting.ports import EntityClient
from hosting.tools import current, idempotent
from state.convert import agent_response
from state.models import ResponseEntry

START = "background_agents_start_task"
CONTINUE = "background_agents_continue_task"
WAIT = "background_agents_wait_for_first_completion"
_RUNS = "runs"
"""The member of the provider's state with the runs of tasks, by the tasks' ids as text. Stored."""
_RUNNING = "running"
_BLANK = "Error: The input of the task is blank. Say what is to be done."

OfRun = Callable[[], HeldRun | None]
"""Returns the run that calls it; None outside of a hosted one."""


class DurableTasks(ContextProvider):
    """A `BackgroundAgentsProvider` in its place among an agent's context providers.

    `of_run` returns the run that calls it, None outside of a hosted one: there the framework's own provider works.
    """

    def __init__(self, plain: BackgroundAgentsProvider, of_run: OfRun, tasks: BackgroundTasks) -> None:
        super().__init__(plain.source_id)
        self._plain = plain
        self._of_run = of_run
        self._tasks = tasks
        self._hosted: dict[str, Mapping[str, str]] = {}

    @property
    def agents(self) -> Mapping[str, Any]:
        """The background agents, by their names in lower case."""
        return self._plain._agents

    def host(self, parent: str, names: Mapping[str, str]) -> None:
        """Have the background agents of this parent hosted under these names; `names` are as `agents`."""
        self._hosted[parent.lower()] = names

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Give the model the framework's tools, instructions and list of tasks."""
        held = self._of_run()
        names = None if held is None else self._hosted.get(held.address.agent)
        if held is None or names is None:
            await self._plain.before_run(agent=agent, session=session, context=context, state=state)
            return
        provider, before = _OfRun(self._plain, session, held, names, self._tasks), len(context.tools)
        await provider.load(until=held.run.accepted.at)
        await provider.before_run(agent=agent, session=session, context=context, state=state)
        for tool in context.tools[before:]:
            provider.wrap(tool)


def durable_tasks(agent: Any, of_run: OfRun, tasks: BackgroundTasks) -> Iterator[DurableTasks]:
    """Yield the providers of tasks of an agent and of its tools, each in the place of the framework's."""
    for inner in agents_within(agent):
        providers = getattr(inner, "context_providers", None) or []
        for number, provider in enumerate(providers):
            if isinstance(provider, BackgroundAgentsProvider):
                providers[number] = DurableTasks(provider, of_run, tasks)
            if isinstance(providers[number], DurableTasks):
                yield providers[number]


class _OfRun(BackgroundAgentsProvider):
    """The framework's provider for one attempt of a run, over the runs of its tasks."""

    def __init__(
        self,
        plain: BackgroundAgentsProvider,
        session: AgentSession,
        held: HeldRun,
        names: Mapping[str, str],
        tasks: BackgroundTasks,
    ) -> None:
        vars(self).update(vars(plain))
        self._session, self._held, self._tasks = session, held, tasks
        self._names = names
        self._runtime = {}
        self._agents = {key: _Delegate(agent, partial(self._note, key)) for key, agent in self._agents.items()}  # type: ignore[misc]
        self._turn = asyncio.Lock()
        self._asked: list[tuple[str, str]] = []

    @property
    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._session.state.setdefault(self.source_id, {})
        return state

    @property
    def _runs(self) -> dict[str, dict[str, str]]:
        runs: dict[str, dict[str, str]] = self._state.setdefault(_RUNS, {})
        return runs

    def _note(self, key: str, text: str) -> None:
        self._asked.append((key, text))

    def wrap(self, tool: FunctionTool) -> None:
        """Have a tool of the framework work upon the log; it may be called again after a crash."""
        work = {START: self._beginning, CONTINUE: self._beginning, WAIT: self._waiting}.get(tool.name, self._reading)
        function = tool.func

        @wraps(function)  # type: ignore[arg-type]
        async def durable(**arguments: Any) -> Any:
            return await work(partial(_answered, function, **arguments), arguments)

        tool.func = durable
        idempotent(tool)

    async def load(self, *, until: float = float("inf"), follows: bool = False) -> list[asyncio.Future[Any]]:
        """Make the tasks of this process of the log: those done that had ended by `until`; return those that go on.

        With `follows` they end when their runs do; whoever asked for that cancels them.
        """
        runtime, goes_on = self._get_runtime(self._session), list[asyncio.Future[Any]]()
        runtime.in_flight_tasks.clear()
        runtime.background_sessions.clear()
        for task in self._state.get("tasks", ()):
            known = self._runs.get(str(task["id"]))
            if known is None:
                continue
            if known["of"] == self._session.session_id:  # a fork reads the tasks of its origin, and continues none
                runtime.background_sessions[task["id"]] = AgentSession()
            if task["status"] != _RUNNING:
                continue
            run = await self._held.on_loop(self._tasks.read(self._task_run(known), self._held.address.owner))
            if run is None:
                continue
            if run.end is not None and run.end.at <= until:
                future: asyncio.Future[Any] = _done(run)
            elif follows:
                future = asyncio.ensure_future(self._followed(known))
                goes_on.append(future)
            else:
                future = asyncio.get_running_loop().create_future()
            runtime.in_flight_tasks[task["id"]] = future  # type: ignore[assignment]
        return goes_on

    def _task_run(self, known: Mapping[str, str]) -> TaskRun:
        return TaskRun(self._names.get(known["agent"], known["agent"]), known["thread"], known["call"])

    async def _followed(self, known: Mapping[str, str]) -> AgentResponse[Any]:
        ended = self._tasks.ended(self._task_run(known), self._held.address.owner, _client())
        run = await self._held.on_loop(ended)
        if run is None:
            raise RuntimeError("The task's thread was deleted.")
        answer: AgentResponse[Any] = await _done(run)
        return answer

    async def _reading(self, answer: Callable[[], Awaitable[str]], arguments: Mapping[str, Any]) -> str:
        async with self._turn:
            await self.load()
            return await answer()

    async def _waiting(self, answer: Callable[[], Awaitable[str]], arguments: Mapping[str, Any]) -> str:
        async with self._turn:
            followed = await self.load(follows=True)
        try:
            return await answer()
        finally:
            for task in followed:
                task.cancel()
            await asyncio.gather(*followed, return_exceptions=True)

    async def _beginning(self, answer: Callable[[], Awaitable[str]], arguments: Mapping[str, Any]) -> str | Content:
        """Return the tool's answer once the run that it asks for is begun; the state stays as it was if it is not."""
        async with self._turn:
            call, before = key_of_call(current().call_key), copy.deepcopy(self._state)
            next_id = self._forget(call)
            await self.load()
            self._asked.clear()
            text = await answer()
            if not self._asked:
                return text
            [(agent, message)] = self._asked
            if not message.strip():
                self._put_back(before)
                return _BLANK
            task_id = str(arguments.get("task_id", self._state["next_task_id"] - 1))
            self._state["next_task_id"] = max(next_id, self._state["next_task_id"])
            self._state["tasks"] = sorted(self._state["tasks"], key=lambda task: int(task["id"]))
            thread = self._runs.get(task_id, {}).get("thread", call)
            of = self._session.session_id
            self._runs[task_id] = {"agent": agent, "thread": thread, "call": call, "of": of}
            try:
                task = self._task_run(self._runs[task_id])
                await self._held.on_loop(self._tasks.begin(self._held.run, task, message, _client()))
            except BaseException:
                self._put_back(before)
                raise
            place = {"agent": task.agent, "thread_id": task.thread_id}
            return Content.from_text(text, additional_properties={TASK: place})

    def _put_back(self, state: dict[str, Any]) -> None:
        self._state.clear()
        self._state.update(state)

    def _forget(self, call: str) -> int:
        """Have the state as it was before this call, where an earlier attempt made it; return the next task's id.

        The result of a call of the same moment may have brought the state.
        """
        next_id: int = self._state.get("next_task_id", 1)
        for task_id, known in list(self._runs.items()):
            if known["call"] != call:
                continue
            if known["thread"] == call:
                self._state["tasks"] = [task for task in self._state["tasks"] if str(task["id"]) != task_id]
                self._state["next_task_id"] = int(task_id)
                del self._runs[task_id]
            else:
                for task in self._state["tasks"]:
                    if str(task["id"]) == task_id:
                        task["status"] = "completed"
        return next_id


class _Delegate:
    """Stands for a background agent: it notes the message that it is run with."""

    def __init__(self, agent: Any, note: Callable[[str], None]) -> None:
        self.id, self.name, self.description = agent.id, agent.name, agent.description
        self._note = note

    def create_session(self, **_: Any) -> AgentSession:
        """Return a session that nothing is kept in."""
        return AgentSession()

    def run(self, messages: str, **_: Any) -> Awaitable[AgentResponse[Any]]:
        """Note the message, and return an answer that nobody reads: the log has the task's."""
        self._note(messages)
        return _nothing()


async def _nothing() -> AgentResponse[Any]:
    return AgentResponse(messages=[])


async def _answered(function: Any, **arguments: Any) -> str:
    answer = function(**arguments)
    text: str = await answer if asyncio.iscoroutine(answer) else answer
    return text


def _client() -> EntityClient:
    client: EntityClient = ENGINE.get().client
    return client


def _done(run: Run) -> asyncio.Future[Any]:
    """Return a run that has ended as a task that is done."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if isinstance(run.end, Completed) and isinstance(response := run.end.response, ResponseEntry):
        future.set_result(agent_response(response))
    elif isinstance(run.end, Cancelled):
        future.cancel()
    else:
        future.set_exception(RuntimeError(getattr(run.end, "detail", "Its answer cannot be read.")))
        future.exception()  # the framework may not ask for it
    return future
