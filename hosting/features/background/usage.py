"""What runs and their tasks use together: a budget of a run, or of a thread, is for its tasks too.

Theory. Nothing is counted here. Each run's own log has what it used, and the links say which runs belong together. So
a call counts once, whichever process made it and however often a process dies. The first run, which nobody's task is,
is found from any of them by the run that each was begun by.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from hosting.amounts import UNUSED, Used
from hosting.core.agent.held_run import read_run
from hosting.core.thread.events import Accepted
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.features.background.tasks import BackgroundTasks
from hosting.http.timeline import BEGUN_BY
from hosting.names import Address


class UsageOfTasks:
    """The usage of tasks, on the loop of the log.

    Agents among `parents` have background agents, and those among `within` are some; others cost no call of the store.
    Both methods raise `LogUnavailableError` and `NewerVersionError`.
    """

    def __init__(self, log: ThreadLog, tasks: BackgroundTasks, parents: Container[str], within: Container[str]) -> None:
        self._log = log
        self._tasks = tasks
        self._parents, self._within = parents, within

    async def beside_run(self, run: Run) -> Used:
        """Return what the other runs of the first run and of its tasks have used: all but this one."""
        first = run
        while (begun_by := _begun_by(first.accepted)) is not None:
            parent = await read_run(self._log, _place(begun_by, run.address.owner), str(begun_by["run_id"]))
            if not isinstance(parent, Run):
                break
            first = parent
        used, known, runs = UNUSED, {first.run_id}, [first]
        for each in runs:  # grows meanwhile
            if each.run_id != run.run_id:
                used = used.plus(each.used)
            for link in await self._links(each.address, each.epoch):
                task = await self._tasks.read(link, run.address.owner) if link.run_id == each.run_id else None
                if task is not None and task.run_id not in known:
                    known.add(task.run_id)
                    runs.append(task)
        return used

    async def beside_thread(self, address: Address) -> Used:
        """Return what the first thread and those of its tasks have used: all but this one."""
        if address.agent not in self._parents and address.agent not in self._within:
            return UNUSED
        first = address
        while (begun_by := await self._begun_by(first)) is not None:
            first = _place(begun_by, address.owner)
        used, threads = UNUSED, [first]
        for each in threads:  # grows meanwhile
            head = await self._log.head(each)
            if each != address:
                used = used.plus(head.used)
            places = (link.address(address.owner) for link in await self._links(each, head.epoch))
            threads += dict.fromkeys(place for place in places if place not in threads)
        return used

    async def _links(self, address: Address, epoch: int) -> Any:
        if address.agent not in self._parents:
            return ()
        try:
            return await self._tasks.links(address, epoch)
        except AttachmentsUnavailableError as error:
            raise LogUnavailableError from error

    async def _begun_by(self, address: Address) -> Mapping[str, Any] | None:
        """Return by which run a thread's newest run was begun, or its first one: an answered approval goes on alone."""
        head: Head = await self._log.head(address)
        for position in filter(None, (head.newest, 1)):
            for _, event in await self._log.events(address, position - 1, through=position):
                if isinstance(event, Accepted) and (begun_by := _begun_by(event)) is not None:
                    return begun_by
        return None


def _begun_by(accepted: Accepted) -> Mapping[str, Any] | None:
    begun_by = (accepted.wire or {}).get(BEGUN_BY)
    return begun_by if isinstance(begun_by, Mapping) else None


def _place(begun_by: Mapping[str, Any], owner: str) -> Address:
    return Address.of(begun_by["agent"], begun_by["thread_id"], owner)
