"""Signs of life in event streams, so that readers of a silent run do not give up.

Theory. Readers give up after some seconds without a byte: httpx, and so a2a's client, after 5. Whatever a stream waits
for, a model, a tool, a person or a store that is away, is no reason to be silent. So pings are not made by what a
stream is made of, but where it is sent, for every stream alike: a comment, which readers of event streams leave out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

PING = b": still running\n\n"

PING_SECONDS = 3.0
"""The longest silence of a stream: 4 s are promised, and the network takes some of it."""


async def with_pings(frames: AsyncGenerator[bytes, None], seconds: float) -> AsyncGenerator[bytes, None]:
    """Yield the frames, each once it is there, and a ping whenever nothing came for so long.

    One task makes all frames, the next one when the last was taken. It is ended when this generator is closed.
    """
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def make() -> None:
        async with aclosing(frames):
            async for frame in frames:
                pieces.put_nowait(frame)
                await pieces.join()

    making = loop.create_task(make())
    making.add_done_callback(lambda _: pieces.put_nowait(None))
    ping = loop.call_later(seconds, pieces.put_nowait, PING)
    try:
        while (piece := await pieces.get()) is not None:
            ping.cancel()
            yield piece
            ping = loop.call_later(seconds, pieces.put_nowait, PING)
            pieces.task_done()
        making.result()
    finally:
        ping.cancel()
        making.cancel()
        await asyncio.gather(making, return_exceptions=True)
