"""Every check of the pack, watched: red for its fault, and green where there is none."""

from __future__ import annotations

from functools import partial

import httpx
import pytest

from conformance.__main__ import ALL_CHECKS
from conformance.adapters.ours import OurService
from conformance.trial import Check, Result, Trial, result_of
from tests.conformance.faults import FAULTS
from tests.conformance.faulty_service import FaultyService

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
    """Make one check of a service."""
    async with (
        service.served() as url,
        httpx.AsyncClient(base_url=url, timeout=5.0) as http,
        httpx.AsyncClient(base_url=service.beside, timeout=5.0) as beside,
    ):
        return await result_of(check, trial_of(service, OurService(http, "a"), beside))


@pytest.mark.behaviour("conformance.finds")
@pytest.mark.parametrize(("fault", "check"), FAULTS.items(), ids=FAULTS)
async def test_a_check_is_red_for_its_fault(fault: str, check: str) -> None:
    """With what was seen as evidence."""
    result = await tried(NAMED[check], FaultyService(fault))

    assert result.outcome == "failed"
    assert "unreadable" not in result.evidence
    assert result.evidence


@pytest.mark.behaviour("conformance.finds")
@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.name)
async def test_a_check_is_green_where_there_is_no_fault(check: Check) -> None:
    """So the fault is what it saw."""
    assert await tried(check, FaultyService()) == Result(check, "passed")


@pytest.mark.behaviour("conformance.finds")
def test_every_check_has_a_fault() -> None:
    """A check that was never red may see nothing."""
    assert set(FAULTS.values()) == set(NAMED)
