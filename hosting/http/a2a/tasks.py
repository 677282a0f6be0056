"""The tasks of an app, as the logs of their threads alone have them: one by its id, and a page of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hosting.core.broadcast import LoggedEvent
from hosting.core.hooks import ThreadQuery
from hosting.core.services import Services
from hosting.core.stores.contract import MOST_POSITION
from hosting.core.thread.run import Run
from hosting.errors import InvalidFieldError, UnknownRunError
from hosting.http.a2a import names
from hosting.http.a2a.fold import TaskFold, fold_tasks
from hosting.http.a2a.requests import Listing
from hosting.http.replies import first_page
from hosting.http.request import HttpRequest
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import EntityClient

MOST_CONTEXTS = 50
"""Of so many of the newest threads the tasks are listed where no context is named."""


class Tasks:
    """The tasks of an app; each read folds them anew."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find(self, request: HttpRequest, agent: AgentPlan, task_id: str) -> TaskFold:
        """Return a task as it stands; raises `UnknownRunError` and `ThreadDeletedError`."""
        run_id, thread_id = names.read_task_id(task_id)
        address = Address.of(agent.name, thread_id, request.caller.owner)
        try:
            return await self.of_run(await self._services.runs.find(address, run_id, request.client))
        except UnknownRunError as error:
            raise UnknownRunError(f"There is no task {task_id[:80]!r}, or it is older than the log.") from error

    async def of_run(self, run: Run) -> TaskFold:
        """Return the task that the run began, as the log has it."""
        fold = TaskFold(run)
        through = MOST_POSITION if run.requested_approvals else run.end_position or MOST_POSITION
        events = await self._services.log.events(run.address, run.first - 1, through=through)
        if not events or events[0][0] != run.first:
            raise UnknownRunError("The task no longer exists.")
        for position, event in events:
            fold.next(LoggedEvent(position, event))
        fold.expire(self._services.log.clocks.wall())
        return fold

    async def current_run(self, fold: TaskFold, client: EntityClient) -> Run:
        """Return the run that the task is at, and promise its outcome."""
        return await self._services.runs.find(fold.address, fold.run_id, client)

    async def listed(self, request: HttpRequest, agent: AgentPlan, wanted: Listing) -> dict[str, Any]:
        """Return a page of tasks, the newest change first; raises `InvalidFieldError` for a token that is none."""
        owner, after = request.caller.owner, _read_page_token(wanted.page_token)
        if wanted.context_id is not None:
            addresses = [Address.of(agent.name, wanted.context_id, owner)]
        else:
            newest = ThreadQuery(MOST_CONTEXTS)
            page = await self._services.newest_threads(agent.name, owner, newest, request.client)
            addresses = [address for address, _ in page.threads]
        async with self._services.large_reads.turn(owner):
            folds = [fold for address in addresses for fold in await self._of_thread(address)]
            return self._page(folds, wanted, after)

    def _page(self, folds: Sequence[TaskFold], wanted: Listing, after: tuple[float, str] | None) -> dict[str, Any]:
        found = [
            fold
            for fold in sorted(folds, key=_order)
            if wanted.state in (None, fold.state) and (wanted.since is None or fold.since >= wanted.since)
        ]
        rest = [fold for fold in found if after is None or _order(fold) > after]
        shown = rest[: wanted.page_size]
        tasks = first_page([fold.task(wanted.history_length, with_artifacts=wanted.with_artifacts) for fold in shown])
        token = _page_token(shown[len(tasks) - 1]) if len(tasks) < len(rest) else ""
        return {"tasks": tasks, "nextPageToken": token, "pageSize": wanted.page_size, "totalSize": len(found)}

    async def _of_thread(self, address: Address) -> list[TaskFold]:
        """Return the tasks of a thread that the log has; a thread that is not there, or is to go, has none."""
        head = await self._services.log.head(address)
        if head.state != "open":
            return []
        folds = fold_tasks(address, await self._services.log.events(address, head.trimmed, head))
        for fold in folds:
            fold.expire(self._services.log.clocks.wall())
        return folds


def _order(fold: TaskFold) -> tuple[float, str]:
    """Return the sort key of tasks: the newest change first."""
    return -fold.since, fold.id


def _page_token(fold: TaskFold) -> str:
    return f"{fold.since!r}~{fold.id}"


def _read_page_token(token: str) -> tuple[float, str] | None:
    """Return after which task a page begins, None for the first; raises `InvalidFieldError`."""
    if not token:
        return None
    since, _, identifier = token.partition("~")
    try:
        return -float(since), identifier
    except ValueError:
        raise InvalidFieldError(f"pageToken is {token[:80]!r}. Send the nextPageToken of the last page.") from None
