"""The feedback of an app: its routes, and what is kept of threads and people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hosting.core.hooks import ThreadData
from hosting.core.runs import Runs
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.feature import EntityOperation, Feature, OwnerData, Upkeep
from hosting.features.feedback.refusals import RunNotEndedError, RunTakenBackError
from hosting.features.feedback.routes import ROUTES, GivenFeedback, ShownFeedback
from hosting.http.request import Bound, late
from hosting.http.verbs import FeedbackDay, NotifiesOfNews, RunNews
from hosting.names import Address
from hosting.ports import ClockClient
from hosting.principal import Caller

if TYPE_CHECKING:
    from hosting.core.thread.run import Run
    from hosting.features.feedback.feedback import Feedbacks

RECORD = "feedback-"
_FOR_EVER = 1e11


class FeedbackFeature(Feature):
    """The feedback of one app. Each app has it."""

    name = "feedback"
    page = Path(__file__).with_name("ui")

    def __init__(
        self, log: ThreadLog, stores: Stores, runs: Runs, news: NotifiesOfNews | None, *, most_bytes: int
    ) -> None:
        """`news` notifies agents' webhooks, None where the app sends none. A body has `most_bytes` at most."""
        self._needs = log, stores, runs, news
        self._most_bytes = most_bytes
        if news is not None:
            news.news_of = self._news_of

    @cached_property
    def _feedbacks(self) -> Feedbacks:
        from hosting.features.feedback.feedback import Feedbacks

        return Feedbacks(*self._needs)

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        return RunNotEndedError, RunTakenBackError

    async def of_days(self, agent: str, owner: str, days: Collection[str]) -> Mapping[str, FeedbackDay]:
        """Return the figures of feedback on an owner's runs; see `CountsFeedback`."""
        from hosting.features.feedback.figures import FeedbackMarks

        stores = self._needs[1]
        return await FeedbackMarks(stores.attachments, stores.hub).of_days(agent, owner, days)

    def routes(self) -> Sequence[Bound]:
        """Return the routes of feedback."""
        return late(ROUTES, self._bound)

    def durable(self) -> Sequence[EntityOperation]:
        """Return what has the rest follow from a change."""
        return (EntityOperation("feedback_apply", self._carry_out),)

    def upkeep(self) -> Sequence[Upkeep]:
        """Return the look for changes whose signal was lost."""
        from hosting.features.feedback.feedback import FeedbackRepair

        return (FeedbackRepair(self._feedbacks),)

    def thread_data(self) -> ThreadData:
        """Return the feedback on a thread's runs."""
        return ThreadData(
            prefixes=(RECORD,),
            keeps_seconds=_FOR_EVER,
            members={"feedback": list[ShownFeedback]},
            export=self._export_thread,
            counts={"feedback": RECORD},
            erase=self._erase_thread,
            clocks=self._clocks,
            clock_prefix="feedback!",
            drop=self._drop_uncounted,
        )

    def owner_data(self) -> OwnerData:
        """Return what a person gave on threads of others: what is on their own is in the export of each."""
        return OwnerData("given_feedback", list[GivenFeedback], self._export_given, self._erase_given)

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.feedback.http import FeedbackHandlers

        return FeedbackHandlers(self._feedbacks, self._most_bytes).bound()

    async def _carry_out(self, fields: Any, client: ClockClient) -> None:
        await self._feedbacks.carry_out(fields, client)

    async def _news_of(self, run: Run, name: str) -> RunNews | None:
        return await self._feedbacks.news_of(run, name)

    async def _export_thread(self, address: Address, epoch: int) -> Mapping[str, Any]:
        from hosting.features.feedback.http import feedback_fields

        records = await self._feedbacks.exported(address, epoch)
        return {"feedback": [feedback_fields(address.thread_id, record, address.owner) for record in records]}

    async def _erase_thread(self, address: Address, epoch: int) -> None:
        await self._feedbacks.erase_thread(address, epoch)

    async def _drop_uncounted(self, address: Address, epoch: int) -> None:
        await self._feedbacks.drop_uncounted(address, epoch)

    async def _clocks(self, address: Address, epoch: int) -> Sequence[str]:
        return ()

    async def _export_given(self, caller: Caller) -> list[GivenFeedback]:
        from hosting.features.feedback.http import given_fields

        return [given_fields(key, record) for key, record in await self._feedbacks.given_by(caller)]

    async def _erase_given(self, caller: Caller) -> None:
        await self._feedbacks.erase_given(caller)
