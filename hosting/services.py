"""What an app's surfaces serve: runs, threads and approvals over its stores, made once, whoever calls them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from hosting.app_stores import Stores
from hosting.approval.answering_approvals import Approvals
from hosting.entity.threads import Threads
from hosting.run.following import Following
from hosting.run.runs import Runs
from hosting.run.stream_reads import StreamReads
from hosting.run.streams import Streams
from hosting.settings import Settings


@dataclass(frozen=True)
class Services:
    """The behaviour behind the routes and tools of one app."""

    runs: Runs
    streams: Streams
    reads: StreamReads
    threads: Threads
    approvals: Approvals

    @classmethod
    def over(
        cls, stores: Stores, settings: Settings, *, admit: Callable[[], None], is_heard: Callable[[str], bool]
    ) -> Services:
        """Return the services of an app; `admit` raises while it takes no runs, `is_heard` knows who has a callback."""
        runs = Runs(stores.log, settings, time.time, admit=admit, is_heard=is_heard)
        following = Following(stores.log, runs)
        threads = Threads(stores, runs)
        return cls(
            runs=runs,
            streams=Streams(following),
            reads=StreamReads(following, time.time),
            threads=threads,
            approvals=Approvals(stores.log, runs, threads, time.time),
        )
