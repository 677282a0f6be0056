"""Tasks of background agents as threads: begun once, found again by any process, ended and erased with their parent.

Theory. A task is a thread of its own, of the same owner, and each of its runs was asked for by one tool call of the
parent. The key of that call names the run, and the key of the call that began the task names its thread. So a call that
is made again after a crash finds the run there, and nobody has to remember anything.

The parent's thread has a link for each run of a task, among its attachments, which is put before the run is accepted.
So whoever cancels the parent, erases its thread or exports it finds all its tasks. Who begins a task looks at the
parent once more behind that: one that was ended meanwhile takes the task with it, whichever of the two came first.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import asdict

from hosting.core.agent.held_run import read_run
from hosting.core.runs import Runs
from hosting.core.stores.stores import Stores
from hosting.core.thread.rows import KeyRow
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.errors import ThreadDeletedError, UnknownRunError
from hosting.http.timeline import BEGUN_BY
from hosting.names import Address
from hosting.ports import EntityClient, Wait
from hosting.principal import Caller

LINK = "background-"
"""How the names of links begin. Stored."""
_KEY_LENGTH = 32
_AGAIN_SECONDS = 1.0


def key_of_call(call_key: str) -> str:
    """Return the name of the task, or of its run, that a tool call begins."""
    return hashlib.sha256(f"background\n{call_key}".encode(errors="surrogatepass")).hexdigest()[:_KEY_LENGTH]


class TaskRun(Struct, frozen=True):
    """One run of a task, by the name of the agent that has the thread; `key` is the run's idempotency key there."""

    agent: str
    thread_id: str
    key: str

    def address(self, owner: str) -> Address:
        """Return the task's thread."""
        return Address.of(self.agent, self.thread_id, owner)


class Link(TaskRun, frozen=True):
    """The same, as the parent's thread keeps it: with the run of the parent that asked for it."""

    run_id: str


class BackgroundTasks:
    """The tasks of one app, on the loop of its log."""

    def __init__(self, log: ThreadLog, runs: Runs, stores: Stores) -> None:
        self._log = log
        self._runs = runs
        self._attachments, self._hub = stores.attachments, stores.hub
        self._beginning: set[asyncio.Task[None]] = set()

    async def begin(self, parent: Run, task: TaskRun, text: str, client: EntityClient) -> None:
        """Begin a run of a task, or find it begun, also if the caller is cancelled; raises as `Runs.start`."""
        begun = asyncio.ensure_future(self._begin(parent, task, text, client))
        self._beginning.add(begun)
        begun.add_done_callback(self._beginning.discard)
        await asyncio.shield(begun)

    async def _begin(self, parent: Run, task: TaskRun, text: str, client: EntityClient) -> None:
        link = Link(task.agent, task.thread_id, task.key, parent.run_id)
        place = epoch_store_key(self._hub, parent.address, parent.epoch)
        await self._attachments.put(place, {f"{LINK}{task.key}": json.dumps(asdict(link)).encode()})
        begun_by = {"agent": parent.accepted.agent, "thread_id": parent.accepted.thread_id, "run_id": parent.run_id}
        request = RunRequest(message=text, context=parent.accepted.request.context)
        wire = {BEGUN_BY: begun_by}
        start = StartRun(request, task.thread_id, Wait(answer=False), task.key, wire=wire)
        caller = Caller(client, parent.accepted.principal, parent.address.owner)  # type: ignore[arg-type]
        begun = await self._runs.start(task.agent, start, caller, is_limited=False)
        head = await self._log.head(parent.address)
        open_run = head.run(parent.run_id)
        if open_run is None or open_run.cancelled is not None or head.state != "open":
            await self._cancel(begun.run, client)

    async def read(self, task: TaskRun, owner: str) -> Run | None:
        """Return the run; None where there is none, or none any more. Raises `LogUnavailableError`."""
        address = task.address(owner)
        head = await self._log.head(address)
        row = await self._log.row(address, KeyRow, task.key, head)
        if not isinstance(row, KeyRow) or row.run_id is None:
            return None
        run = await read_run(self._log, address, row.run_id, head)
        return run if isinstance(run, Run) else None

    async def ended(self, task: TaskRun, owner: str, client: EntityClient) -> Run | None:
        """Return the run once it has ended; None as `read`. The log is waited for."""
        while (run := await self.read(task, owner)) is not None and not isinstance(run.state, Ended):
            with suppress(ThreadDeletedError):
                run = await self._runs.wait(run, client, float("inf"), takes=False)
            if isinstance(run.state, Ended):
                break
            await asyncio.sleep(_AGAIN_SECONDS)  # the log is away, or this process is about to end
        return run

    async def links(self, address: Address, epoch: int) -> Sequence[Link]:
        """Return the links of a thread, the oldest first. Raises `AttachmentsUnavailableError`."""
        place = epoch_store_key(self._hub, address, epoch)
        names = await self._attachments.names(place, LINK)
        stored = await self._attachments.read(place, list(names))
        return [Link(**json.loads(stored[name])) for name in names if name in stored]

    async def cancel(self, address: Address, run_id: str, client: EntityClient) -> None:
        """Cancel the runs of tasks that a run asked for; again changes nothing.

        Raises `LogUnavailableError`, `AttachmentsUnavailableError` and `EngineUnavailableError`.
        """
        head = await self._log.head(address)
        for link in await self.links(address, head.epoch):
            if link.run_id == run_id and (run := await self.read(link, address.owner)) is not None:
                await self._cancel(run, client)

    async def _cancel(self, run: Run, client: EntityClient) -> None:
        with suppress(UnknownRunError, ThreadDeletedError):
            await self._runs.cancel(run.address, run.run_id, client)
