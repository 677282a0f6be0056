"""The steps at which an app is killed: a store of threads around the real one, in the app's process.

A step is an append with a record of a run. It is known by what it holds and not by its number, because a slow machine
may write in two appends what a fast one writes in one.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from hosting import store_choice
from hosting.core.stores.contract import Append, Appended, AppendOutcome, StoredHead, ThreadStore
from hosting.names import Address
from hosting.testing.case import KINDS, AppCase, Cases, RecordedStep, Side

_RANKS = ("tool_result", "completed", "failed", "timed_out", "cancelled", "approval_answered", "tool_started")
"""An append with several records is the step of the first of these kinds."""


class KillingStore:
    """A store that notes each step of the present case, and ends this process around the one that is to be killed."""

    def __init__(self, store: ThreadStore, cases: Cases) -> None:
        self._store, self._cases = store, cases
        self._passed: dict[Path, Counter[tuple[str, str]]] = {}
        self._tools: dict[tuple[str, str], str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, address: Address, base: StoredHead | None, append: Append) -> AppendOutcome:
        """Append as the real store does; this process may end before or after."""
        records, case = list(self._records(append.events)), self._cases.present
        if not records or case is None:
            return await self._store.append(address, base, append)
        passed = self._passed.setdefault(case.folder, Counter())
        steps = list(_numbered(records, passed))
        _die_at("before", steps, case)
        outcome = await self._store.append(address, base, append)
        if isinstance(outcome, Appended):  # of an append that did not count, the records come again
            passed.update(records)
            case.steps.add(min(steps, key=_rank))
            _die_at("after", steps, case)
        return outcome

    def _records(self, events: Sequence[bytes]) -> Iterator[tuple[str, str]]:
        """Yield the kind of each event of a run, and the tool that it is about; a result has only the call's key."""
        for payload in events:
            try:
                event = json.loads(payload)
            except ValueError:
                continue
            if not isinstance(event, dict) or event.get("kind") not in KINDS:
                continue
            call = (str(event.get("run_id")), str(event.get("key")))
            if event["kind"] == "tool_started":
                self._tools[call] = str(event["name"])
            yield event["kind"], self._tools.get(call, "") if event["kind"].startswith("tool_") else ""


def _numbered(records: Sequence[tuple[str, str]], passed: Counter[tuple[str, str]]) -> Iterator[RecordedStep]:
    here: Counter[tuple[str, str]] = Counter()
    for record in records:
        here[record] += 1
        yield RecordedStep(*record, nth=passed[record] + here[record])


def _rank(step: RecordedStep) -> int:
    return _RANKS.index(step.kind) if step.kind in _RANKS else len(_RANKS)


def _die_at(side: Side, steps: Sequence[RecordedStep], case: AppCase) -> None:
    kill = case.waiting_kill
    if kill is not None and kill.side == side and kill.step in steps:
        case.killed.add(kill)
        end_process()


def end_process() -> NoReturn:
    """End this process at once, without a chance to clean up: by SIGKILL, or on Windows by TerminateProcess."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    raise AssertionError("The process outlived its end.")


def watch_steps(cases: Cases) -> None:
    """Have each store of threads that this process opens be a `KillingStore`."""
    module: Any = store_choice
    choose = module.choose_thread_store
    module.choose_thread_store = lambda *arguments: KillingStore(choose(*arguments), cases)
