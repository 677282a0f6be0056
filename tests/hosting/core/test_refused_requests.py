"""Requests that a thread refuses: nothing of them stays, though they may be large and many."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from hosting.core.thread.commands import DeleteThread
from hosting.core.thread.events import Accepted
from hosting.errors import HostingError
from tests.support.process import ADDRESS, Process, call

TIMES = 20


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def kept(message: str) -> int:
    found = (one for one in gc.get_objects() if isinstance(one, Accepted))
    return sum(one.request.message == message for one in found)


async def refused(process: Process, **members: str) -> str:
    try:
        await process.start(call("refused", **members))
    except HostingError as error:
        return error.code
    return ""


@pytest.mark.behaviour("service.refused-leave-nothing")
@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("code", ["too_many_runs", "idempotency_key_reused", "thread_deleting"])
async def test_a_refused_request_is_gone_with_its_answer(process: Process, code: str) -> None:
    """Not once a garbage collector comes: until then hundreds of large ones would be held."""
    process.agent.gate.clear()
    for number in range(32):
        await process.start(call(f"{number}", key=f"k{number}", waits=False))
    if code == "thread_deleting":
        await process.log.execute(ADDRESS, DeleteThread(0.0))

    key = {"key": "k1"} if code == "idempotency_key_reused" else {}
    codes = {await refused(process, **key) for _ in range(TIMES)}

    process.agent.gate.set()
    assert codes == {code}
    assert kept("refused") <= 1, "more than the last one is kept"
