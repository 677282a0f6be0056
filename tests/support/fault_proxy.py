"""A proxy between storage clients and Azurite that passes everything byte for byte, and fails where a test says so.

It stands on ports of its own, one for each service: what is to use it is given its connection string. Faults are set
and taken back while it runs, and each counts how often it fired. What Azure Tables refuses for its size, and Azurite
takes, is refused always.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from azure.storage.blob.aio import BlobServiceClient, ExponentialRetry

from hosting.core.stores.blobs import Connect, client_options
from tests.support.azurite import connection_string
from tests.support.http_messages import Head
from tests.support.relay import Exchange
from tests.support.set_faults import ANY_CHANCE, Fault, FaultyRelay
from tests.support.storage_faults import FAULTS, Answer, StorageExchange, own_target, refused
from tests.support.table_limits import refusal_of


class FaultProxy(FaultyRelay):
    """Stands before an account's addresses by service."""

    def __init__(self, origins: Mapping[str, str]) -> None:
        super().__init__(origins)
        self._continued: dict[str, str] = {}

    @property
    def connection_string(self) -> str:
        """The account by way of the proxy."""
        return connection_string(self.origins)

    def set(
        self,
        name: str,
        *,
        service: str | None = None,
        method: str | None = None,
        path: str = "",
        kind: str | None = None,
        text: str = "",
        times: float = 1,
        skip: int = 0,
        share: float = 1.0,
        chance: random.Random = ANY_CHANCE,
        may_miss: bool = False,
        **options: Any,
    ) -> Fault:
        """Let requests fail as FAULTS has it under the name, with the options that it takes there.

        `path` is searched for in the address with its query, `text` must stand there or in what is written to a table;
        `kind` is read, write, list or delete; `times` may be infinite. Only a `share` of the requests that are meant
        fails, by `chance`. Of several faults for one request the one that was set first is taken. One that `may_miss`
        need not fire.
        """
        effect = FAULTS[name]
        inspect.signature(effect).bind(None, **options)
        pattern, written = re.compile(path), text.encode()

        def is_meant(exchange: StorageExchange) -> bool:
            asked, target, _ = exchange.request.first_line
            return (
                service in (None, exchange.service)
                and method in (None, asked)
                and (text in target or written in (exchange.body or b""))
                and pattern.search(target) is not None
                and (kind is None or kind == exchange.call.kind)  # at last: the call is parsed for it
            )

        shown, done = text or path or "any path", partial(effect, **options)
        self._faults.append(Fault(name, done, is_meant, shown, times, skip, share, chance, may_miss))
        return self._faults[-1]

    @contextmanager
    def away(self) -> Iterator[None]:
        """Refuse connections and end those that there are, until the block ends; what is refused so is not counted."""
        self._run(self._leave())
        try:
            yield
        finally:
            self._run(self._listen())

    def _exchange(
        self, service: str, request: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Exchange:
        own = own_target(request, self._continued)
        return StorageExchange(service, own, reader, writer, self._behind[service], continued=self._continued)

    async def _answered(self, exchange: Exchange) -> bool:
        """Answer as the limits of Azure, a fault or Azurite has it; return whether the connection goes on."""
        assert isinstance(exchange, StorageExchange)
        if exchange.service == "Table" and exchange.request.first_line[0] not in ("GET", "DELETE"):
            is_batch = exchange.call.container == "$batch"
            refusal = refusal_of(await exchange.take(), is_batch=is_batch)
            if refusal is not None:
                return await self._send(exchange, refused(refusal, is_batch=is_batch))
        fault = self._taking(exchange)
        if fault is None:
            return await self._pass(exchange)
        answer = await fault.effect(exchange)
        if not answer.has_failed:
            fault.did_nothing()
        return await self._send(exchange, answer)

    async def _send(self, exchange: Exchange, answer: Answer) -> bool:
        self.bytes_up += len(exchange.body or b"")
        if answer.sent is None:
            return False
        await self._to_client(exchange, answer.sent)
        return exchange.body is not None


def connect_quickly(account: str) -> Connect:
    """Return how the product connects to the account of a connection string, with repeats that do not wait."""
    retry = ExponentialRetry(initial_backoff=0, increment_base=0, retry_total=2, random_jitter_range=0)

    @asynccontextmanager
    async def connect() -> AsyncIterator[BlobServiceClient]:
        options = {**client_options(), "retry_policy": retry}
        async with BlobServiceClient.from_connection_string(account, **options) as client:
            yield client

    return connect
