"""A proxy between Redis clients and a server that passes commands one by one, and fails where a test says so.

It knows of the protocol (RESP 2 and 3) where a command and an answer end, and nothing of what they mean.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from tests.support.http_messages import LINE_BYTES
from tests.support.set_faults import Fault, FaultyRelay

_BULK = b"$!="
_LISTS = {b"*": 1, b"~": 1, b">": 1, b"%": 2}
"""The kinds of values that hold others, and how many for each that they count."""


@dataclass(frozen=True)
class Command:
    """One command as it came, and the server's side of its client's connection."""

    raw: bytes
    there: asyncio.StreamReader
    back: asyncio.StreamWriter

    async def carry_out(self) -> bytes:
        """Have the server do it, and return its answer, which the client has not seen."""
        self.back.write(self.raw)
        await self.back.drain()
        return await read_value(self.there)


async def lose_request(_: Command) -> bytes | None:
    """Close the connection; nothing was carried out."""
    return None


async def drop_answer(command: Command) -> bytes | None:
    """Carry the command out and close the connection instead of answering."""
    await command.carry_out()
    return None


async def answer_late(command: Command, seconds: float) -> bytes | None:
    """Carry the command out, and answer after so long."""
    answer = await command.carry_out()
    await asyncio.sleep(seconds)
    return answer


FAULTS: dict[str, Callable[..., Awaitable[bytes | None]]] = {
    "request lost": lose_request,
    "answer dropped": drop_answer,
    "slow": answer_late,
}


class RedisFaultProxy(FaultyRelay):
    """Stands before a server's address."""

    def __init__(self, url: str) -> None:
        super().__init__({"Redis": url})

    @property
    def url(self) -> str:
        """The server by way of the proxy."""
        return self.origins["Redis"].replace("http:", "redis:")

    def set(
        self, name: str, *, text: str = "", times: float = 1, skip: int = 0, may_miss: bool = False, **options: Any
    ) -> Fault:
        """Let commands in which `text` stands fail as FAULTS has it under the name, with the options that it takes."""
        effect = FAULTS[name]
        inspect.signature(effect).bind(None, **options)

        written = text.encode()

        def is_meant(command: Command) -> bool:
            return written in command.raw

        shown, done = text or "any command", partial(effect, **options)
        self._faults.append(Fault(name, done, is_meant, shown, times, skip, may_miss=may_miss))
        return self._faults[-1]

    async def _serve(self, service: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind = urlsplit(self._behind[service])
        there, back = await asyncio.open_connection(behind.hostname, behind.port, limit=LINE_BYTES)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while answer := await self._answer(Command(await read_value(reader), there, back)):
                    writer.write(answer)
                    await writer.drain()
        finally:
            back.close()
            writer.close()

    async def _answer(self, command: Command) -> bytes | None:
        fault = self._taking(command)
        return await (command.carry_out() if fault is None else fault.effect(command))


async def read_value(reader: asyncio.StreamReader) -> bytes:
    """Return one whole command or answer, byte for byte. Raises `IncompleteReadError` where the other side closed."""
    line = await reader.readuntil(b"\r\n")
    kind, rest = line[:1], line[1:-2]
    if kind in _BULK and rest != b"-1":
        return line + await reader.readexactly(int(rest) + 2)
    values = [await read_value(reader) for _ in range(max(int(rest), 0) * _LISTS[kind])] if kind in _LISTS else []
    return line + b"".join(values)
