"""`app.client`: runs from a function of the user's own, with the fields of a request over HTTP.

Theory. A run is begun here as over HTTP, by the same rules and limits: it is sure to end before `run` returns. The
durable client of the invocation comes with it (`functions.lent_client`), and is found by
`hosting.orchestrations.ENGINE`, so the tools of agents have it too. They run on a loop of their own: what is asked is
done on the client's loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from hosting.core.entity.called_run import AgentCall, AgentRunError, ResultFormat, message_fields, result_format
from hosting.core.outcome import OpenStatus, RunStatus, labelled_ids, open_status, outcome_fields
from hosting.core.request.contents import limits_of
from hosting.core.request.fields import CONTEXT, METADATA, THREAD_METADATA, WEBHOOK, carried_request
from hosting.core.services import Services
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.errors import HostingError, InvalidFieldError, InvalidWaitError, UnknownAgentError
from hosting.http.run_call import IDEMPOTENCY_KEY, INPUT, read_busy, read_idempotency_key, workflow_request
from hosting.http.run_text import progress_of, status_of
from hosting.http.streams import Frame, Streams
from hosting.http.verbs import PausesRuns
from hosting.metadata import Metadata, Value
from hosting.model_options import OPTIONS, ignored_names
from hosting.names import BUSY, Address, Busy, check_thread_id
from hosting.options import Retry
from hosting.orchestrations import ENGINE
from hosting.plan import AgentPlan, Plan
from hosting.ports import ClockClient, EntityClient, Wait
from hosting.principal import Caller, Principal, owner_of

T = TypeVar("T")


class AgentRun(Struct, frozen=True):
    """A run as it stood when it was read, with the `fields` that its URL has over HTTP.

    With an agent, a thread and a run id it names a run that began elsewhere, as the client's methods take it. An
    `owner` has threads of their own. `replayed`: the key had begun the run before. `ignored`
    names the options of the request that have no effect.
    """

    agent: str
    thread_id: str
    run_id: str
    owner: Principal | None = None
    status: RunStatus = "accepted"
    replayed: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    ignored: Sequence[str] = ()

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, with an answer or without one."""
        return self.status not in get_args(OpenStatus)

    @property
    def response(self) -> str:
        """The agent's answer; raises `AgentRunError` for a run that has none, or not yet."""
        if self.status == "success":
            return str(self.fields["response"])
        error: Mapping[str, str] = self.fields.get("error") or {}
        detail = "The run has not ended. Read it with app.client.result(run)."
        raise AgentRunError(self._call, error.get("code", "run_pending"), error.get("detail", detail))

    @property
    def value(self) -> Any:
        """The JSON value of the answer, for a run with a `response_format`; raises as `response`."""
        return None if self.response is None else self.fields.get("value")

    @property
    def _call(self) -> AgentCall:
        return AgentCall(self.agent, self.thread_id, self.run_id, ResultFormat(), self.owner)


class AppClient:
    """Starts, reads, follows, pauses and cancels runs of an app's agents and workflows, in the app's own functions.

    Each method raises what the same request is answered with over HTTP, as a `HostingError` with its `code`, and
    `LookupError` where no invocation has a durable client.
    """

    def __init__(self, services: Services, plan: Plan, pausing: PausesRuns) -> None:
        self._services, self._plan, self._pausing = services, plan, pausing
        self._streams = Streams(services.following, services.clocks.wall, names_causes=services.loop.names_causes)

    async def run(
        self,
        agent: str,
        message: Any,
        *,
        thread_id: str | None = None,
        key: str | None = None,
        owner: Principal | None = None,
        webhook: str | None = None,
        wait: bool | float = False,
        response_format: object = None,
        busy: Busy | None = None,
        retry: Retry | None = None,
        stream: bool = False,
        options: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        metadata: Metadata | None = None,
        thread_metadata: Mapping[str, Value | None] | None = None,
    ) -> AgentRun:
        """Start a run, or find the one that the `key` began; return once it is sure to end.

        The message is a text, a `Content` or `Message` of agent-framework or several; a workflow's is its input, any
        JSON value. With `wait` it returns once the run has ended: True waits as long as the app lets callers wait
        (`AGENT_WAIT_SECONDS`), a number at most so many seconds. Without an `owner` the thread is the app's. `stream`
        has the text logged as it comes, for readers of `stream()`. `options` are those of the model, as far as the
        agent lets callers set them; `ignored` of the run names the others. The agent's code reads the `context`, its
        model does not; `metadata` is the run's, and `thread_metadata` changes the thread's.
        """
        planned = self.planned(agent)
        fields = {
            WEBHOOK: webhook,
            BUSY: planned.options.busy if busy is None else busy,
            "response_format": result_format(response_format).sent,
            "retry": None if retry is None else retry.fields(),
            OPTIONS: options,
            CONTEXT: None if context is None else dict(context),
            METADATA: None if metadata is None else dict(metadata),
            THREAD_METADATA: None if thread_metadata is None else dict(thread_metadata),
        }
        start = StartRun(
            self._request(planned, message, fields),
            None if thread_id is None else check_thread_id(thread_id, planned.name, owner_of(owner), is_stored=True),
            read_wait(wait),
            None if key is None else read_idempotency_key({IDEMPOTENCY_KEY: key}),
            streams=stream,
            busy=read_busy(fields, {}),
        )
        run = await _on_clients_loop(lambda client: self._run(planned, start, owner, client))
        return replace(run, ignored=ignored_names(options, start.request.options))

    def planned(self, agent: str) -> AgentPlan:
        """Return the plan of an agent or a workflow; raises `UnknownAgentError` for one that the app does not have."""
        planned = self._plan.find(agent) if isinstance(agent, str) else None
        if planned is None or planned.options.within:
            known = ", ".join(repr(each.name) for each in self._plan.listed) or "none"
            raise UnknownAgentError(f"This app has no agent {str(agent)[:80]!r}. Its agents: {known}.")
        return planned

    async def result(self, run: AgentRun, *, wait: bool | float = True) -> AgentRun:
        """Return the run once it has ended, or as it stands when the wait is over; without `wait`, at once.

        Raises `UnknownRunError`, and `ThreadDeletedError` for one whose thread was deleted.
        """
        address, waits = self._address(run), read_wait(wait)

        async def read(client: ClockClient) -> AgentRun:
            runs = self._services.runs
            found = await runs.find(address, run.run_id, client)
            return await self._shown(await runs.wait_as(waits, found, client), run.owner, replayed=run.replayed)

        return replace(await _on_clients_loop(read), ignored=run.ignored)

    async def until_end(self, run: AgentRun, seconds: float) -> AgentRun:
        """Return the run once it has ended, or as it stands after so many seconds, or when this process is to end.

        Raises as `result` does.
        """
        address = self._address(run)

        async def read(client: ClockClient) -> AgentRun:
            runs = self._services.runs
            found = await runs.find(address, run.run_id, client)
            waited = await runs.wait(found, client, max(0.0, seconds))
            return await self._shown(waited, run.owner, replayed=run.replayed)

        return run if run.is_over else replace(await _on_clients_loop(read), ignored=run.ignored)

    async def cancel(self, run: AgentRun) -> AgentRun:
        """Cancel the run, and return it as it then stands; again changes nothing. Raises as `result`."""
        return await self._changed(run, self._services.runs.cancel)

    async def pause(self, run: AgentRun) -> AgentRun:
        """Have the run stop at its next step, and return it as it then stands; again changes nothing.

        Raises as `result`, and `AttachmentsUnavailableError` if the pause could not be marked.
        """
        return await self._changed(run, self._pausing.pause)

    async def resume(self, run: AgentRun) -> AgentRun:
        """Have a paused run go on, and return it as it then stands; again changes nothing. Raises as `result`."""
        return await self._changed(run, self._pausing.resume)

    async def _changed(self, run: AgentRun, verb: Callable[[Address, str, EntityClient], Awaitable[Run]]) -> AgentRun:
        address = self._address(run)

        async def change(client: ClockClient) -> AgentRun:
            changed = await verb(address, run.run_id, client)
            return await self._shown(changed, run.owner, replayed=run.replayed)

        return replace(await _on_clients_loop(change), ignored=run.ignored)

    async def stream(self, run: AgentRun) -> AsyncGenerator[Frame, None]:
        """Yield the run's events from its first to its end, as `GET .../events` sends them: `event` and `fields`.

        Raises as `result` does, and `LogUnavailableError` and `ShuttingDownError` where it breaks off.
        """
        address = self._address(run)

        async def open_frames(client: ClockClient) -> AsyncGenerator[Frame, None]:
            found = await self._services.runs.find(address, run.run_id, client)
            return self._streams.frames(found, client)

        async def next_frame(client: ClockClient) -> Frame | None:
            return await anext(frames, None)

        async def close(client: ClockClient) -> None:
            await frames.aclose()

        frames = await _on_clients_loop(open_frames)
        try:
            while (frame := await _on_clients_loop(next_frame)) is not None:
                yield frame
        finally:
            await _on_clients_loop(close)

    def _request(self, planned: AgentPlan, message: Any, fields: Mapping[str, Any]) -> RunRequest:
        limits = limits_of(planned, self._services.settings)
        if limits.workflow is None:
            return carried_request({**fields, **message_fields(message)}, limits)
        if any(fields[name] is not None for name in ("response_format", "retry", OPTIONS)):
            raise InvalidFieldError("A workflow takes no response_format, no retry and no options. Leave them out.")
        shared = {name: fields[name] for name in (WEBHOOK, CONTEXT, METADATA, THREAD_METADATA)}
        return workflow_request({INPUT: message, **shared}, limits, limits.workflow)

    def _address(self, run: AgentRun) -> Address:
        return Address.of(self.planned(run.agent).name, run.thread_id, owner_of(run.owner))

    async def _run(self, planned: AgentPlan, start: StartRun, owner: Principal | None, client: ClockClient) -> AgentRun:
        try:
            started = await self._services.runs.start(planned.name, start, Caller.of(client, owner))
        except HostingError as error:
            error.thread_id = start.thread_id
            raise
        run = await self._services.runs.wait_as(start.wait, started.run, client)
        return await self._shown(run, owner, replayed=started.replayed)

    async def _shown(self, run: Run, owner: Principal | None, *, replayed: bool) -> AgentRun:
        return await shown_run(run, owner, self._services, replayed=replayed)


async def shown_run(run: Run, owner: Principal | None, services: Services, *, replayed: bool) -> AgentRun:
    """Return a run as functions get it, with how its budget stands."""
    end, accepted = run.end, run.accepted
    if end is None:
        fields: dict[str, Any] = {"status": open_status(run), **labelled_ids(accepted), **progress_of(run)}
    else:
        fields = dict(outcome_fields(run, end))
    balance = services.hooks[run.address.agent].balance
    budget = None if balance is None else await balance.of_answer(run, owner_of(owner))
    if budget is not None:
        fields["budget"] = budget
    return AgentRun(accepted.agent, accepted.thread_id, run.run_id, owner, status_of(run), replayed, fields)


def read_wait(wait: bool | float) -> Wait:
    """Return a wait as functions give it: False, True, or so many seconds. Raises `InvalidWaitError`."""
    if isinstance(wait, bool):
        return Wait(answer=wait)
    if not isinstance(wait, int | float) or not 0 <= wait < float("inf"):
        raise InvalidWaitError(f"wait is {wait!r:.80}. Give True, False or a number of seconds.")
    return Wait(float(wait), answer=wait > 0)


async def _on_clients_loop(work: Callable[[ClockClient], Awaitable[T]]) -> T:
    """Return what the work gives on the loop of the invocation's durable client."""
    engine = ENGINE.get(None)
    if engine is None:
        raise LookupError(
            "app.client has no durable client here. Call it in an `async def` function of this app while the host "
            "calls it, or in a tool of its agents."
        )

    async def done() -> T:
        return await work(engine.client)

    if engine.loop is asyncio.get_running_loop():
        return await done()
    return await asyncio.wrap_future(engine.run(done()))
