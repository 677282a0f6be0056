"""One app as several processes, by groups, as Flex Consumption runs it: HTTP hosts, the durable one, and the timers'.

with grouped_app(folder, http=2, durable=1, timers=("agents_sweep",), log=settings) as app:
    httpx.post(f"{app.origin}/api/...")  # by turns to the HTTP hosts
    app.durable.kill()
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from tests.support.http_messages import Head
from tests.support.relay import Exchange, Relay
from tests.support.running_host import RunningHost

QUEUE_POLL_SECONDS = 0.05
"""How long a signal waits here for its host: on Azure it may be a second, which tests need not wait for."""


class GroupHost:
    """The host of one group of an app's functions: ended and started again as often as a test likes.

    Its first address is kept for those that follow.
    """

    def __init__(self, folder: Path, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        self._folder, self._arguments, self._environ = folder, tuple(arguments), environ
        self._port = "0"
        self._running: RunningHost | None = None

    @property
    def running(self) -> RunningHost:
        assert self._running is not None, f"no host of {' '.join(self._arguments)} was started"
        return self._running

    @property
    def origin(self) -> str:
        return self.running.origin

    def start(self) -> None:
        """Run it, and return when it takes requests. One that runs is refused: two would be another test."""
        assert self._running is None or self._running.process.poll() is not None, "it runs already"
        self.end()
        self._running = RunningHost(self._folder, "--port", self._port, *self._arguments, environ=self._environ)
        self._port = self.origin.rpartition(":")[2]

    def kill(self) -> None:
        """End it as a machine does that is gone: nothing is finished or told to anybody."""
        self.running.process.kill()
        self.running.process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop it where it stands, as a machine does that sleeps, until the block ends."""
        self.running.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.running.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ask it to end by the signal, and return when it has drained and is gone."""
        self.running.stop()

    def end(self) -> None:
        """Kill it if it runs, and print what it said: pytest shows that where a test fails."""
        if self._running is None:
            return
        self._running.__exit__()
        print(f"--- {' '.join(self._arguments) or 'all groups'} ({self._running.process.returncode})")
        print("\n".join(self._running.printed))
        self._running = None


@dataclass(frozen=True)
class GroupedApp:
    """The hosts of one app; `origin` is one address for all the HTTP ones.

    Of several durable ones, `workers`, the first that started works, and the others wait for its end.
    """

    origin: str
    http: tuple[GroupHost, ...]
    workers: tuple[GroupHost, ...]
    timers: tuple[GroupHost, ...]

    @property
    def durable(self) -> GroupHost:
        """The first of the durable ones; it is here also where none was started."""
        return self.workers[0]


class Balancer(Relay):
    """One address for several hosts, which get requests by turns; a stream passes piece by piece."""

    def __init__(self, origins: Sequence[str]) -> None:
        super().__init__({"app": origins[0]})
        self._turns = cycle(origins)

    def _exchange(
        self, service: str, request: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Exchange:
        return Exchange(service, request, reader, writer, next(self._turns))


@contextmanager
def grouped_app(
    folder: Path,
    *,
    http: int = 2,
    durable: int = 1,
    timers: Sequence[str] = (),
    log: Mapping[str, str],
    of_http: Sequence[Mapping[str, str]] = (),
    arguments: Sequence[str] = (),
    queue_poll_seconds: float = QUEUE_POLL_SECONDS,
) -> Iterator[GroupedApp]:
    """Run the app in the folder in so many processes; without a durable one, its `start` brings it.

    `timers` are the names of functions that have hosts of their own, `log` the settings that say to all where runs are
    logged, `of_http` settings of single HTTP hosts, `arguments` go to each `start`. All processes are ended with the
    block, and with a start that fails.
    """
    with ExitStack() as stack:

        def made(group: str, *more: str, own: Mapping[str, str] | None = None) -> GroupHost:
            host = GroupHost(folder, ["--group", group, *more, *arguments], {**log, **(own or {})})
            stack.callback(host.end)
            return host

        workers = tuple(made("durable", "--queue-poll", str(queue_poll_seconds)) for _ in range(max(durable, 1)))
        own = dict(enumerate(of_http))
        fronts = tuple(made("http", own=own.get(number)) for number in range(http))
        clocks = tuple(made(f"function:{name}") for name in timers)
        for host in workers[:durable] + fronts + clocks:
            host.start()
        balancer = stack.enter_context(Balancer([host.origin for host in fronts]))
        yield GroupedApp(balancer.origins["app"], fronts, workers, clocks)
