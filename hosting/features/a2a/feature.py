"""A2A, by which other agents call the app's agents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from hosting.core.care import Care
from hosting.core.turns import LargeReads
from hosting.feature import Wire, WireFeature
from hosting.http.verbs import NewestThreads, NotifiesReceivers
from hosting.http.wire import WireVerbs


@dataclass(frozen=True, eq=False)
class A2AFeature(WireFeature):
    """The A2A wire of one app. A context is a thread, a task a run of it with the runs that go on after approvals.

    Without `receivers` nobody is notified of a task.
    """

    name = "a2a"
    wire = "a2a"
    title = "A2A"
    links: ClassVar = {"a2a_url": "/a2a/{name}"}
    page = Path(__file__).with_name("ui")

    verbs: WireVerbs
    care: Care
    newest_threads: NewestThreads
    large_reads: LargeReads
    receivers: NotifiesReceivers | None

    def served(self) -> Wire:
        """Return the protocol."""
        from hosting.features.a2a import names
        from hosting.features.a2a.requests import A2A_DOCUMENT
        from hosting.features.a2a.tasks import Tasks
        from hosting.features.a2a.verbs import A2AVerbs
        from hosting.http.wire_requests import operation_of

        tasks = Tasks(self.verbs, self.care, self.newest_threads, self.large_reads)
        reply = A2AVerbs(self.verbs, tasks, self.receivers).reply
        route_of = partial(operation_of, names.OPERATIONS, "docs/reference/a2a.md")
        return Wire(names.RPC.function, names.PATH, A2A_DOCUMENT, route_of, reply, names.a2a_refusal)
