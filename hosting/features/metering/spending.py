"""The spending of an attempt against its agent's budget and limit: checked before each model call, counted after it.

Theory. The budget of a run begins with what the run's recorded calls used, and that of a thread with what its ended
runs did, as the thread's head has it. A call of this attempt counts as soon as it is answered, recorded or not: those
that tools make side by side see each other's. What background tasks use is read of their logs each time. So is that of
an owner's day, of the day's own log, because runs of other threads spend it too. A limit of tokens is asked by requests
only (`hosting.features.metering.limiter`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from agent_framework import ChatContext, ChatResponse, ChatResponseUpdate, Content
from msgspec import Struct, field

from hosting.amounts import UNUSED, Used, counted_tokens
from hosting.core.thread.events import Completed, ModelResult, Terminal
from hosting.core.thread.run import Run
from hosting.core.thread.usage import NOTHING, RECORDED_COUNTS, TokenTotals, entry_usage
from hosting.errors import LogUnavailableError, UnpricedModelError
from hosting.features.metering.budgets import Budget
from hosting.features.metering.days import OwnerDays
from hosting.features.metering.minutes import OwnerMinutes
from hosting.features.metering.tasks import TaskUsage, used_beside
from hosting.principal import owner_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
_CHARACTERS = 4
"""About as many are a token."""


class Spending:
    """The usage of the run so far, with all its attempts; `model` answered last, by its own name.

    Made on the loop of the log, and called from the agent's.
    """

    def __init__(
        self,
        run: Run,
        used_before: Used,
        *,
        budget: Budget | None,
        days: OwnerDays | None,
        minutes: OwnerMinutes | None,
        tasks: TaskUsage,
        unpriced: set[str],
    ) -> None:
        """The runs of the thread that have ended used `used_before`.

        `days` are there for a budget of owners' days, and `minutes` where whoever began the run has a limit of tokens.
        `tasks` reads what the run's background tasks use, or those that it is one of.
        `unpriced` are the models of the agent that answered in this process and have no price.
        """
        self._budget = budget
        self._before = used_before if budget is not None and budget.per == "thread" else UNUSED
        self._owner, self._days = run.address.owner, days
        self._caller, self._minutes = owner_of(run.accepted.principal), minutes
        self._unpriced = unpriced
        self._run, self._tasks = run, tasks
        self._loop = asyncio.get_running_loop()
        self.model = ""
        self.used, self._counts = UNUSED, NOTHING
        self._under_way: dict[int, CallUnderWay] = {}
        self._is_over = False
        for step in run.steps:
            if isinstance(step, ModelResult):
                self._add(step.response.get("usage_details"), step.cost)
        self.used, self._counts = self.used.plus(run.usage.unrecorded.used), run.usage.recorded

    @property
    def has_budget(self) -> bool:
        """Whether earlier usage may have later model calls refused."""
        return self._budget is not None

    async def check(self, context: ChatContext) -> None:
        """Raise `BudgetExceededError` or `UnpricedModelError` where this call may not begin, and `LogUnavailableError`.

        What a model without a price costs is known to nobody, so it is not called where its name is known, or once it
        has answered in this process. A call whose answer is streamed counts from now on, by what is received of it.
        """
        await self._check(context)
        if context.stream:
            call = self._under_way[id(context)] = CallUnderWay(context)
            context.stream_transform_hooks.append(call.receive)

    async def _check(self, context: ChatContext) -> None:
        if self._budget is None:
            return
        if self._budget.prices:
            if (asked := _asked(context)) is None and self._unpriced:
                raise unpriced_model(min(self._unpriced))
            if asked is not None and self._budget.price(asked) is None:
                raise unpriced_model(asked, did="was to be called")
        if self._days is None:
            beside = await self._on_log(used_beside(self._tasks, self._run, self._budget.per))
            self._budget.check(self._before.plus(self.used).plus(beside))
            return
        renews_at, used = await self._on_log(self._days.used(self._owner))
        self._budget.check(used, renews_at)

    async def count_cut_short(self) -> None:
        """Count the received parts of incomplete answers: the attempt has ended, and no more will come.

        A model that has not counted it by then never does, so that is estimated. Called on the loop of the log.
        """
        calls, self._under_way, self._is_over = self._under_way, {}, True
        for call in calls.values():
            if not call.has_begun:
                continue
            usage, estimated = call.usage()
            self.model, price = call.model, None
            if self._budget is not None and self._budget.prices:
                price = self._budget.price(call.model, _asked(call.context))
                if price is None:
                    self._unpriced.add(call.model)
            used = self._add(usage, 0 if price is None else price.of(usage), estimated)
            try:
                await self._count_elsewhere(used)
            except LogUnavailableError:
                logger.warning("An estimate of %d tokens is not counted: the log cannot be reached.", used.tokens)

    async def _count_elsewhere(self, used: Used) -> None:
        if self._days is not None:
            await self._days.add(self._owner, used)
        if self._minutes is not None and used.tokens:
            await self._minutes.add(self._caller, used.tokens)

    async def count(self, context: ChatContext, answer: ChatResponse[Any]) -> int:
        """Count one answer, and return its cost, in trillionths of a unit of money.

        The price is that of the model which answered, else of the one that was asked: models answer under the names of
        their versions. Raises `UnpricedModelError` where neither has one, once the tokens are counted, and
        `LogUnavailableError`.
        """
        if self._under_way.pop(id(context), None) is None and self._is_over:
            return 0  # it was counted as one that was cut short
        asked = _asked(context)
        self.model, cost, unpriced = str(answer.model or asked or ""), 0, None
        if self._budget is not None and self._budget.prices:
            if (price := self._budget.price(answer.model, asked)) is not None:
                cost = price.of(answer.usage_details)
            else:
                self._unpriced.add(self.model)
                unpriced = unpriced_model(self.model)
        used = self._add(answer.usage_details, cost)
        # A run that is cancelled now has had the answer all the same.
        await asyncio.shield(self._on_log(self._count_elsewhere(used)))
        if unpriced is not None:
            raise unpriced
        return cost

    def counts(self) -> TokenTotals:
        """Return the usage of all model calls of the run, recorded or not."""
        return self._counts

    def counted_in(self, ended: Terminal) -> Terminal:
        """Return the end of the run with its cost; without an answer it gets the calls without a record."""
        if self.used.cost:
            ended = ended.model_copy(update={"cost": self.used.cost, "model": self.model})
        if isinstance(ended, Completed) or not (usage := self._counts.stored()):
            return ended
        return ended.model_copy(update={"entry": {**ended.entry, "usage": entry_usage(usage)}})

    def _add(self, counts: Mapping[str, Any] | None, cost: int, estimated: int = 0) -> Used:
        used = Used(counted_tokens(counts), cost)
        self.used = self.used.plus(used)
        counted = self._counts.plus(counts, RECORDED_COUNTS)
        self._counts = counted.with_all({"cost": cost, "estimated_tokens": estimated})
        return used

    def _on_log(self, call: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))


class CallUnderWay(Struct, eq=False):
    """A call with a streamed answer: the received parts, and the model's own name."""

    context: ChatContext
    has_begun: bool = False
    model: str = ""
    _characters: int = 0
    _reported: dict[str, int] = field(default_factory=dict)

    def receive(self, update: ChatResponseUpdate) -> ChatResponseUpdate:
        """Take the next part of the answer, and return it; from the agent's loop."""
        self.has_begun = True
        self.model = str(update.model or self.model or _asked(self.context) or "")
        for content in update.contents:
            self._characters += _characters_of(content)
            for name in RECORDED_COUNTS.values():
                if type(count := (content.usage_details or {}).get(name)) is int:
                    self._reported[name] = max(count, self._reported.get(name, 0))
        return update

    def usage(self) -> tuple[dict[str, int], int]:
        """Return the counts of the received parts, and how many are estimates: four characters are one token."""
        names = ("input_token_count", "output_token_count")
        read = sum(_characters_of(content) for message in self.context.messages for content in message.contents)
        read += len(str((self.context.options or {}).get("instructions") or ""))
        guessed = dict(zip(names, (-(-read // _CHARACTERS), -(-self._characters // _CHARACTERS)), strict=True))
        # What a model says it has written while it writes is what it had written by then.
        least = {names[0]: self._reported.get(names[0], guessed[names[0]])}
        least[names[1]] = max(self._reported.get(names[1], 0), guessed[names[1]])
        total = max(sum(least.values()), self._reported.get("total_token_count", 0))
        reported = max(sum(self._reported.get(name, 0) for name in names), self._reported.get("total_token_count", 0))
        return {**self._reported, **least, "total_token_count": total}, total - reported


def _characters_of(content: Content) -> int:
    return sum(len(str(part)) for part in (content.text, content.arguments, content.result) if part)


def _asked(context: ChatContext) -> str | None:
    """Return the name of the model that a call asks, None where only the model knows it."""
    model = (context.options or {}).get("model") or getattr(context.client, "model", None)
    return model if isinstance(model, str) and model else None


def unpriced_model(model: str, *, did: str = "answered") -> UnpricedModelError:
    """Return the refusal of the model of that name, which did that."""
    return UnpricedModelError(
        f"Model {model[:80]!r} {did} and has no price. Add it to the prices of the agent's budget."
    )
