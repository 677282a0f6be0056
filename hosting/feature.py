"""`Feature`: a part of an app beside the threads of its agents, declared by what it adds.

Theory. A feature declares, and the app consumes. No feature is given the app, the object that it registers with, or
another feature. What it may declare is a closed set, and all of it stands here. So a feature is one folder of
`hosting/features/` and one line of `hosting/assembly.py`, and whoever asks for "all that is stored of an owner" gets it
without knowing who stores it.

A feature may start late, with the first agent that has it. What it keeps is exported and erased even while it is off:
it may have been on before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol, get_origin

from msgspec import Struct

from hosting.core.hooks import NO_HOOKS, AgentHooks, ThreadData
from hosting.errors import HostingError
from hosting.http.access import Access
from hosting.http.places import Mount
from hosting.http.replies import Reply, Streamed
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import Header, Route
from hosting.http.wire import WireDocument
from hosting.names import Address
from hosting.plan import AgentPlan, WithinPlan
from hosting.ports import ClockClient, KeptContent
from hosting.principal import Caller
from hosting.settings import SettingsPart


class DurableTask(Protocol):
    """A task of the durable engine; an orchestration yields it to wait for its end."""

    def cancel(self) -> None:
        """Cancel a timer, which keeps the orchestration open otherwise."""


class OrchestrationContext(Protocol):
    """The calls of an orchestration on the durable engine, by the SDK's names for them."""

    @property
    def current_utc_datetime(self) -> datetime:
        """The time, the same at every replay."""

    def get_input(self) -> Any:
        """Return the input of the orchestration."""

    def create_timer(self, fire_at: datetime) -> Any:
        """Return the `DurableTask` that ends at that time."""

    def call_activity(self, name: str, input_: str) -> Any:
        """Return the `DurableTask` that calls an activity."""

    def call_entity(self, key: str, operation: str, input_: Any) -> Any:
        """Return the `DurableTask` that calls an operation that a feature declares, under one of the entity's keys."""

    def signal_entity(self, key: str, operation: str, input_: Any) -> Any:
        """Have such an operation done, and wait for nothing."""

    def task_any(self, activities: list[Any]) -> Any:
        """Return the task that ends with the first of these; its result is that `DurableTask`."""

    def is_over(self, task: DurableTask) -> bool:
        """Return whether a task has ended."""

    def result_of(self, task: DurableTask) -> Any:
        """Return the result of a task that has ended, or the exception that it ended with."""

    def continue_as_new(self, input_: Any) -> None:
        """Begin anew with another input, and without a history."""


class Orchestration(Struct, frozen=True):
    """An orchestration of the durable engine. Another version of the app may replay it, so it is to decide little."""

    name: str
    run: Callable[[OrchestrationContext], Generator[Any, Any, None]]


class Activity(Struct, frozen=True):
    """An activity: it takes a text and the durable client of the invocation, and returns a text."""

    name: str
    run: Callable[[str, ClockClient], Awaitable[str]]


@dataclass(frozen=True)
class McpTool:
    """A tool of the app's MCP server, and its function `name`: that takes a call as text, and returns a result as text.

    `properties` and `output_schema` are JSON as the trigger takes them. `failure` is the result of a call that raised.
    """

    name: str
    tool: str
    description: str
    _: KW_ONLY
    properties: str
    output_schema: str
    run: Callable[[str, ClockClient], Awaitable[str]]
    failure: str


class EntityOperation(Struct, frozen=True):
    """An operation of the entity that all features have together (`core.hooks.ENTITY`), by a name of its own.

    It takes the input and the durable client of the invocation, and returns a result: both are JSON values. Raises
    `InvalidFieldError` for an input that it refuses. Whatever else it raises has it delivered again.
    """

    name: str
    run: Callable[[Any, ClockClient], Awaitable[Any]]


class Entity(Struct, frozen=True):
    """An entity of the feature's own, by whose state the instances of an app know of one another.

    `change` takes the state as text, None where there is none, and the input of the `operation`, a JSON value. It
    returns the next state. Raises `InvalidFieldError` for an input that it refuses. Whatever else it raises has the
    operation delivered again.
    """

    name: str
    operation: str
    change: Callable[[str | None, Any], Awaitable[str]]


class OwnerData(Struct, frozen=True):
    """The data of an owner that a feature keeps beside their threads.

    `member` is its name in the owner's export, and `type` the type of that member in the OpenAPI document: a list or a
    dict. It is erased when all threads of the owner are gone, or before them where it `begins_runs`: an erased owner
    would have new threads otherwise. Both functions take a caller, whose `owner` it is of. They raise
    `LogUnavailableError`, and are safe to call again. Where it is `counted`, `erase` returns how much it removed, and
    the receipt says so. `contents` are members of the export too, of large contents.
    """

    member: str
    type: Any
    export: Callable[[Caller], Awaitable[Any]]
    erase: Callable[[Caller], Awaitable[int | None]]
    begins_runs: bool = False
    counted: bool = False
    contents: Mapping[str, Callable[[Caller], AsyncIterator[KeptContent]]] = {}

    @classmethod
    def of_threads(cls, erase: Callable[[Caller], Awaitable[None]]) -> OwnerData:
        """Return data that is made of the owner's threads: their export has all of it, and an erasure ends it."""
        return cls("", None, _nothing, erase)

    @property
    def empty(self) -> Any:
        """Its value in later pages of an export: the first page has all of it."""
        return (get_origin(self.type) or self.type)()


class CarriesFiles(Protocol):
    """Takes what a thread has beside its conversation along into another thread: a fork, or one that is assigned.

    A thread is named with its epoch. `source` is the text of the other thread's source in its log. Each method may be
    called again, and raises `LogUnavailableError` and `AttachmentsUnavailableError`.
    """

    async def begin(
        self, origin: tuple[Address, int], target: tuple[Address, int], source: str, before: float | None = None
    ) -> None:
        """Take note of what the origin has, and had `before` that moment (seconds since 1970), for a new thread.

        Where none begins with that source, nothing comes of it.
        """

    async def finish(self, target: tuple[Address, int], source: str, client: ClockClient) -> None:
        """Bring it all, once the thread has begun with that source."""

    async def give_up(self, target: tuple[Address, int], source: str) -> None:
        """Forget what was noted: no thread begins with that source."""


class Upkeep(Protocol):
    """Work that one instance of the app does twice a day."""

    async def run(self, client: ClockClient) -> object:
        """Do it once. A failure keeps no other work from being done."""


async def _nothing(caller: Caller) -> None:
    return None


class Wire(Struct, frozen=True):
    """Another protocol over the same threads, so that its official clients can call the agents.

    One `function` serves all of it, below a `path` that no other route has. `route_of` returns the operation for a
    method and the rest of the path: a route to the app, which asks who sends each request as it does on its own. It
    raises a `HostingError` for one that the protocol does not have. `reply` answers a request, and the rest of its
    path, and `refusal` gives an error of any kind the shape that the protocol has for it.
    """

    function: str
    path: str
    document: WireDocument
    route_of: Callable[[str, str], Route]
    reply: Callable[[HttpRequest, str], Awaitable[Reply | Streamed]]
    refusal: Callable[[HostingError], Reply]


class Feature:
    """The base of all features. A feature overrides what it needs; each method has a default.

    `name` is that of its folder. `paths` are the words of its paths that no other feature has, and `absent` is the
    sentence for a caller who asks for one of them where the app does not have the feature. `links` are members of an
    agent in `GET agents`, each with its path below the agent. A path that begins with a slash is below the app, with
    the agent's name for `{name}`. `settings` are those that it alone reads. A wrong one is refused also while the
    feature is off. `page` is the folder of its files of the page for a browser, which is served with all of them.

    A feature that is off costs no start: `feature.py` imports at its top what stands in the declaration above, and each
    method imports the modules of the feature that it needs. A test says which modules which features bring in.
    """

    name: ClassVar[str]
    paths: ClassVar[Sequence[str]] = ()
    absent: ClassVar[str] = ""
    links: ClassVar[Mapping[str, str]] = {}
    settings: ClassVar[type[SettingsPart] | None] = None
    page: ClassVar[Path | None] = None

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        return ()

    @property
    def is_on(self) -> bool:
        """Whether the app has it by now. Its routes and functions are registered then."""
        return True

    def has(self, agent: AgentPlan) -> bool:
        """Return whether an agent or a workflow has it, and so its links."""
        return self.is_on

    def add(self, agent: AgentPlan) -> None:
        """Take up an agent that the app has from now on; raise `ConfigurationError` for one that it cannot serve."""

    def within(self, agent: AgentPlan) -> Sequence[WithinPlan]:
        """Return agents that it hosts within this one, before `hooks`; raise `ConfigurationError` as `add` does."""
        return ()

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return what it adds to the runs of an agent, after `add`; raise `ConfigurationError` as `add` does."""
        return NO_HOOKS

    def gate_headers(self, agent: AgentPlan) -> Sequence[Header]:
        """Return the headers that its gate adds to the answers to requests which begin runs of an agent."""
        return ()

    def rules_of(self, agent: AgentPlan) -> Mapping[str, Any]:
        """Return the rules that it adds to the description of an agent."""
        return {}

    def routes(self) -> Sequence[Bound]:
        """Return its routes. Those below `agents/{name}/` are workflows' too, unless they say otherwise."""
        return ()

    def mounts(self) -> Sequence[Mount]:
        """Return other places, where routes are served too: its own, or those of all threads as its `access` admits."""
        return ()

    def access(self) -> Access | None:
        """Return the rules of access, which one feature of an app may have."""
        return None

    def durable(self) -> Sequence[Orchestration | Activity | EntityOperation | Entity]:
        """Return its functions of the durable engine. Their names are stored, and never change."""
        return ()

    def upkeep(self) -> Sequence[Upkeep]:
        """Return its work of twice a day."""
        return ()

    def tools(self) -> Sequence[McpTool]:
        """Return the tools that MCP clients find. The names of their functions never change."""
        return ()

    def owner_data(self) -> OwnerData | None:
        """Return the data of owners that it keeps."""
        return None

    def thread_data(self) -> ThreadData | None:
        """Return the data of threads that it keeps, also while it is off."""
        return None

    async def drain(self, seconds: float) -> None:
        """Begin nothing more, and return once all that goes on has ended, or after so long: the process is to end."""

    async def close(self) -> None:
        """Return once the rest is done of runs that have ended. It comes after `drain`, and after the last run."""


@dataclass(frozen=True, eq=False)
class WireFeature(Feature):
    """The base of features that are another protocol. An app has those that it names in `wires=[...]`, by their `wire`.

    `wires` are the names that the app gives. `title` is the name that its clients show. They begin at the path `door`
    below the wire's own, or at an agent's name if that is None.
    """

    wire: ClassVar[str]
    title: ClassVar[str]
    door: ClassVar[str | None] = None

    wires: Sequence[str]

    @property
    def is_on(self) -> bool:
        """Whether the app names it."""
        return self.wire in self.wires

    def served(self) -> Wire:
        """Return the protocol. Its modules are imported here, so that an app which does not name it imports none."""
        raise NotImplementedError


def hooks_of(features: Sequence[Feature], agent: AgentPlan) -> AgentHooks:
    """Return what features add to the runs of an agent: each kind of hook but `on_end` is of one feature at most."""
    added = [feature.hooks(agent) for feature in features]
    kinds = {kind: [hook for hooks in added if (hook := getattr(hooks, kind))] for kind in AgentHooks.__struct_fields__}
    on_end = [signals for hooks in kinds.pop("on_end") for signals in hooks]
    assert all(len(hooks) < 2 for hooks in kinds.values()), kinds
    return AgentHooks(**{name: hooks[0] for name, hooks in kinds.items() if hooks}, on_end=on_end)


def thread_data_of(features: Sequence[Feature]) -> list[ThreadData]:
    """Return the data of threads that features keep."""
    return [data for feature in features if (data := feature.thread_data()) is not None]


async def drain(features: Sequence[Feature], runs: Awaitable[None], seconds: float) -> None:
    """Return once `runs`, which ends the runs of this process, and all features have come to their end."""
    await asyncio.gather(runs, *(feature.drain(seconds) for feature in features))
    await asyncio.gather(*(feature.close() for feature in features))
