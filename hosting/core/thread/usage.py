"""The tokens and the money that runs use: by call, by run, and by thread.

Theory. A run's usage has three parts, because no event has all of it. Recorded model calls have theirs, those of agents
that are tools apart from the others: the run's answer counts the others once more. The calls of an attempt that failed
or was released before their record are counted with that claim or release.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import not_
from typing import Any, NamedTuple

from pydantic import Field

from hosting.amounts import MOST_TOKENS, Used
from hosting.core.thread import events
from hosting.core.thread.open_runs import HeadPart
from state.contents import TOKEN_COUNTS


def _own_name(shown: str) -> str:
    """Return the name of a count among `TokenTotals`, by that of a model and of answers."""
    return shown.replace("_token_count", "_tokens")


CACHED, REASONING = "cache_read_input_token_count", "reasoning_output_token_count"
"""Parts of the input and of the output, which count once, by a model's names: an entry has them as the model does."""
_PARTS = {name: name for name in (CACHED, REASONING)}
_BESIDE_COUNTS = {"estimatedTokenCount": "estimated_token_count", **_PARTS}
SHOWN_COUNTS = {**TOKEN_COUNTS, **_BESIDE_COUNTS}
"""The counts of an entry: stored name -> shown name."""
_ENTRY_COUNTS = {_own_name(shown): stored for stored, shown in SHOWN_COUNTS.items()}
RECORDED_COUNTS = {_own_name(recorded): recorded for recorded in (*TOKEN_COUNTS.values(), *_PARTS)}
_OWN_NAMES = {name: name for name in _ENTRY_COUNTS}
_BESIDE = "extensionData"


class TokenTotals(HeadPart):
    """Tokens that model calls have used, as their models counted them.

    `estimated_tokens` are of calls that were cut short, `cost` is of those with a price, in trillionths of its unit.
    Tokens from a cache are among the input, and those of reasoning among the output.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    estimated_tokens: int = Field(default=0, exclude_if=not_)
    cache_read_input_tokens: int = Field(default=0, exclude_if=not_)
    reasoning_output_tokens: int = Field(default=0, exclude_if=not_)
    cost: int = Field(default=0, exclude_if=not_)

    def plus(self, counts: object, names: Mapping[str, str]) -> TokenTotals:
        """Return these plus the counts under such names; values that are not token counts add nothing."""
        counted = counts if isinstance(counts, dict) else {}
        added = {
            name: getattr(self, name) + count
            for name, key in names.items()
            if type(count := counted.get(key)) is int and 0 <= count <= MOST_TOKENS
        }
        return self.model_copy(update=added) if added else self

    def with_all(self, counts: Mapping[str, int]) -> TokenTotals:
        """Return these and others, tokens and cost, by the same names."""
        return self.plus(counts, _OWN_NAMES).model_copy(update={"cost": self.cost + counts.get("cost", 0)})

    def beyond(self, recorded: TokenTotals) -> dict[str, int]:
        """Return the difference of these to those, by name, with the cost; empty if there is none."""
        more = {name: getattr(self, name) - getattr(recorded, name) for name in TokenTotals.model_fields}
        return {name: count for name, count in more.items() if count > 0}

    def stored(self) -> dict[str, int]:
        """Return the counts by the names of an entry of a conversation."""
        return {key: count for name, key in _ENTRY_COUNTS.items() if (count := getattr(self, name))}

    @property
    def all_tokens(self) -> int:
        """All of them, also where models count none but those of requests and answers."""
        return max(self.total_tokens, self.input_tokens + self.output_tokens)

    @property
    def used(self) -> Used:
        """The same as a budget counts it."""
        return Used(self.all_tokens, self.cost)


NOTHING = TokenTotals()


class RunUsage(NamedTuple):
    """The usage of one run: of its `own` recorded model calls, of those `within` its tools, and `unrecorded`."""

    own: TokenTotals = NOTHING
    within: TokenTotals = NOTHING
    unrecorded: TokenTotals = NOTHING

    def after(self, event: events.Event) -> RunUsage:
        """Return the usage after another event of the run; events that count nothing change nothing."""
        match event:
            case events.ModelResult():
                part = self.within if event.within else self.own
                part = part.plus(event.response.get("usage_details"), RECORDED_COUNTS).with_all({"cost": event.cost})
                return self._replace(within=part) if event.within else self._replace(own=part)
            case events.Claimed() | events.Released() if event.unrecorded:
                return self._replace(unrecorded=self.unrecorded.with_all(event.unrecorded))
        return self

    @property
    def recorded(self) -> TokenTotals:
        """The sum of the three parts."""
        return self.own.with_all(self.within.model_dump()).with_all(self.unrecorded.model_dump())

    def in_all(self, end: events.Terminal | None) -> TokenTotals:
        """Return the usage of the run with that end, or until now; where two counts differ, the larger.

        An answer counts the calls of the agent that ran, not those of agents that were its tools, nor what is
        `unrecorded` of attempts before it. A workflow, which makes no call of its own, counts some of its executors'.
        A run without an answer counts all that its last holder knew, and has used the recorded calls at least.
        """
        counted, cost = NOTHING, 0
        if end is not None:
            counted, cost = NOTHING.plus(entry_counts(end.entry), _ENTRY_COUNTS), end.cost
        if self == UNUSED:
            return counted.model_copy(update={"cost": cost})
        recorded = self.recorded
        used, besides = recorded, NOTHING
        if isinstance(end, events.Completed):
            answer = NOTHING if self.own == NOTHING else counted
            used, besides = answer.plus(self.within.model_dump(), _OWN_NAMES), self.unrecorded
        used = max(used, counted, key=lambda totals: totals.all_tokens).plus(besides.model_dump(), _OWN_NAMES)
        return used.model_copy(update={"cost": cost or recorded.cost})


UNUSED = RunUsage()


def counted_in_all(end: events.Terminal, usage: RunUsage) -> events.Terminal:
    """Return the end of a run with all that its attempts used, where its entry counts less."""
    used, counted = usage.in_all(end), entry_counts(end.entry)
    changes: dict[str, object] = {"cost": used.cost}
    if any(counted.get(name) != count for name, count in used.stored().items()):
        changes["usage"] = used.stored()
    return end.model_copy(update=changes)


def entry_usage(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return counts as the `usage` of an entry: counts without a property of its format stand beside the others."""
    usage: dict[str, Any] = {name: count for name, count in counts.items() if name not in _BESIDE_COUNTS}
    beside = {name: count for name, count in counts.items() if name in _BESIDE_COUNTS}
    return {**usage, _BESIDE: beside} if beside else usage


def entry_counts(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of an entry by their names, those beside the others too."""
    usage = entry.get("usage")
    counts = dict(usage) if isinstance(usage, dict) else {}
    beside = counts.pop(_BESIDE, None)
    return {**counts, **{name: beside[name] for name in _BESIDE_COUNTS if isinstance(beside, dict) and name in beside}}
