"""Every check of the pack, watched: red for its fault, and green where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

import httpx
import pytest

from conformance.__main__ import ALL_CHECKS
from conformance.adapters.ours import OurService
from conformance.trial import Check, Result, Trial, result_of
from tests.conformance.faults import FAULTS
from tests.conformance.faulty_service import FaultyService

AT_ONCE = 4
NAMED = {check.name: check for check in ALL_CHECKS}


def trial_of(service: FaultyService, client: OurService, beside: httpx.AsyncClient) -> Trial:
    """Return what a trial of the service has: all that the command can be given."""

    async def stored() -> str:
        return service.stored()

    owners = [
        {"x-user": name, "authorization": f"Bearer token.{name}.signed-by-the-post-for-{name}"}
        for name in ("ada", "bob")
    ]
    own = partial(Trial, client, "hello", "slow", "refund", owners, service.killed, patience=5.0, open_seconds=0.05)
    return own(
        tool="lookup",
        ask="ask",
        edit="edit",
        default="default",
        long="long",
        limit=0.15,
        closed="closed",
        behalf="behalf",
        says=("For ada", "For bob"),
        stored=stored,
        beside=client.beside(beside),
    )


async def tried(check: Check, service: FaultyService) -> Result:
    async with (
        service.served() as url,
        httpx.AsyncClient(base_url=url, timeout=5.0) as http,
        httpx.AsyncClient(base_url=service.beside, timeout=5.0) as beside,
    ):
        return await result_of(check, trial_of(service, OurService(http, "a"), beside))


async def all_tried(cases: Mapping[str, str]) -> dict[str, Result]:
    """Make the check of each case of a service with that fault, several at once: they wait most of the time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(fault: str, check: str) -> Result:
        async with gate:
            return await tried(NAMED[check], FaultyService(fault if fault in FAULTS else ""))

    return dict(zip(cases, await asyncio.gather(*(one(*case) for case in cases.items())), strict=True))


@pytest.mark.behaviour("conformance.finds")
async def test_each_check_is_red_for_its_faults() -> None:
    """With what was seen as evidence. A check that was never red may see nothing, so each has a fault."""
    results = await all_tried(FAULTS)

    assert [fault for fault, result in results.items() if result.outcome != "failed"] == []
    assert [fault for fault, result in results.items() if result.evidence in ("", "unreadable")] == []
    assert set(FAULTS.values()) == set(NAMED)


@pytest.mark.behaviour("conformance.finds")
async def test_each_check_is_green_where_there_is_no_fault() -> None:
    """So the fault is what it saw."""
    results = await all_tried({name: name for name in NAMED})

    assert [result for result in results.values() if result != Result(result.check, "passed")] == []
