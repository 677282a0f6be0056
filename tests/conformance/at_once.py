"""Several checks of a trial, made at once: most of a check's time is waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from conformance.trial import Check, Result, Trial, result_of


async def made_at_once(checks: Sequence[Check], trial: Trial) -> list[Result]:
    """Make checks at once. Those that kill share a kill, which comes when each has come to it or to its end."""
    return await _AtOnce(checks, trial).results()


class _AtOnce:
    def __init__(self, checks: Sequence[Check], trial: Trial) -> None:
        self._checks, self._trial = checks, trial
        self._coming = {check.name for check in checks}
        self._all_here = asyncio.Event()
        self._killing: asyncio.Future[None] | None = None

    async def results(self) -> list[Result]:
        return await asyncio.gather(*map(self._result, self._checks))

    async def _result(self, check: Check) -> Result:
        async def kill() -> None:
            self._comes(check)
            await self._all_here.wait()
            self._killing = self._killing or asyncio.ensure_future(self._kill())
            await asyncio.shield(self._killing)

        try:
            return await result_of(check, replace(self._trial, kill=self._trial.kill and kill))
        finally:
            self._comes(check)

    async def _kill(self) -> None:
        assert self._trial.kill is not None
        await self._trial.kill()

    def _comes(self, check: Check) -> None:
        self._coming.discard(check.name)
        if not self._coming:
            self._all_here.set()
