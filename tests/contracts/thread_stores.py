"""The stores of threads' logs, each as a factory: a second store is a second process's view of the same logs."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hosting.core.stores.contract import ThreadStore
from tests.contracts.opened_stores import OPEN
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.seeds import repeated

Away = Callable[[str, Sequence[ThreadStore]], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class Backend:
    """How tests reach one backend.

    `open` takes a place and a hub, in any process, and `new_place` makes the place of a test, where nothing is yet: a
    path, an address, a connection string. `pushes` if a watch wakes by itself. `away` keeps what stands at a place from
    these open stores for as long as it lasts. `is_shared` where several processes may open one place. `examples` is how
    many random lives it is given, and `raced` how many appends two processes race for. `marks` are on all its tests.
    """

    open: Callable[[str, str], ThreadStore]
    new_place: Callable[[pytest.FixtureRequest], str]
    pushes: bool = True
    away: Away | None = None
    is_shared: bool = True
    examples: int = repeated(40, exploring=1000)
    raced: int = repeated(200, exploring=800)
    marks: tuple[pytest.MarkDecorator, ...] = ()


def _new_path(request: pytest.FixtureRequest) -> str:
    folder: Path = request.getfixturevalue("tmp_path")
    return str(folder / "logs" / "threads.sqlite")


@contextlib.asynccontextmanager
async def _path_taken(place: str, stores: Sequence[ThreadStore]) -> AsyncIterator[None]:
    """A folder stands where the file was; a process that has the file open would not notice."""
    for store in stores:
        await store.close()
    path, aside = Path(place), Path(f"{place}-aside")
    path.rename(aside)
    path.mkdir()
    yield
    path.rmdir()
    aside.rename(path)


_PROXIES: dict[str, FaultProxy] = {}


def _new_tables(request: pytest.FixtureRequest) -> str:
    """Tables of the test's own, by way of a proxy that refuses what Azure does for its size and Azurite does not."""
    proxy: FaultProxy = request.getfixturevalue("fault_proxy")
    place = f"T{uuid.uuid4().hex[:10]} {proxy.connection_string}"
    _PROXIES[place] = proxy
    return place


@contextlib.asynccontextmanager
async def _account_left(place: str, stores: Sequence[ThreadStore]) -> AsyncIterator[None]:
    with _PROXIES[place].away():
        yield


_REDIS_SERVERS: dict[str, RedisServer] = {}


def _empty_server(request: pytest.FixtureRequest) -> str:
    server: RedisServer = request.getfixturevalue("redis_server")
    server.empty()
    _REDIS_SERVERS[server.url] = server
    return server.url


@contextlib.asynccontextmanager
async def _server_down(place: str, stores: Sequence[ThreadStore]) -> AsyncIterator[None]:
    _REDIS_SERVERS[place].save_and_stop()
    yield
    _REDIS_SERVERS[place].start()


BACKENDS: dict[str, Backend] = {
    "memory": Backend(
        open=OPEN["memory"],
        new_place=lambda request: uuid.uuid4().hex,
        is_shared=False,
    ),
    "sqlite": Backend(
        open=OPEN["sqlite"],
        new_place=_new_path,
        away=_path_taken,
        examples=repeated(15, exploring=1000),
    ),
    "tables": Backend(
        open=OPEN["tables"],
        new_place=_new_tables,
        pushes=False,
        away=_account_left,
        examples=repeated(12, exploring=200),
        raced=repeated(60, exploring=200),
        marks=(pytest.mark.slow,),
    ),
    "redis": Backend(
        open=OPEN["redis"],
        new_place=_empty_server,
        away=_server_down,
        marks=(pytest.mark.slow,),
    ),
}
ALL = [pytest.param(name, marks=backend.marks) for name, backend in BACKENDS.items()]
SHARED = [pytest.param(name, marks=backend.marks) for name, backend in BACKENDS.items() if backend.is_shared]
CAN_BE_AWAY = [pytest.param(name, marks=backend.marks) for name, backend in BACKENDS.items() if backend.away]


@dataclass
class Threads:
    """The threads of one test, on one backend."""

    name: str
    place: str
    opened: list[ThreadStore] = field(default_factory=list)

    @property
    def backend(self) -> Backend:
        return BACKENDS[self.name]

    def open(self, hub: str = "hub") -> ThreadStore:
        self.opened.append(self.backend.open(self.place, hub))
        return self.opened[-1]

    def away(self) -> AbstractAsyncContextManager[None]:
        assert self.backend.away is not None
        return self.backend.away(self.place, self.opened)
