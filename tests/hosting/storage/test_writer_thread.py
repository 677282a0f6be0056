"""The thread that commits: what is given to it while it closes is done all the same."""

import asyncio
import sqlite3
import threading

from hosting.storage.writer import WriterThread

GUARD_SECONDS = 5.0


async def test_a_step_that_comes_while_the_thread_closes_is_done_by_the_next_one() -> None:
    """Each thread has a queue of its own: the late step neither waits behind the end of the old one nor is lost."""
    writer = WriterThread(lambda: sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None), "w")
    held, is_held = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(connection: sqlite3.Connection) -> str:
        loop.call_soon_threadsafe(is_held.set)
        held.wait(GUARD_SECONDS)
        return threading.current_thread().name

    early = asyncio.create_task(writer.submit(hold))
    await is_held.wait()
    closing = asyncio.create_task(writer.close())
    await asyncio.sleep(0)
    late = await asyncio.wait_for(writer.submit(lambda connection: threading.get_ident()), GUARD_SECONDS)
    held.set()

    assert await asyncio.wait_for(early, GUARD_SECONDS) == "w"
    await asyncio.wait_for(closing, GUARD_SECONDS)
    assert late in {thread.ident for thread in threading.enumerate()}
    await writer.close()
    assert late not in {thread.ident for thread in threading.enumerate()}
