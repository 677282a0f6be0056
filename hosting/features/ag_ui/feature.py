"""AG-UI, by which pages that show an agent at work call the app's agents."""

from __future__ import annotations

from dataclasses import dataclass

from hosting.core.archiving import Archiver
from hosting.core.threads import Threads
from hosting.feature import Wire, WireFeature
from hosting.http.wire import WireVerbs


@dataclass(frozen=True, eq=False)
class AgUiFeature(WireFeature):
    """The AG-UI wire of one app. Its threads and runs are ours."""

    name = "ag_ui"
    wire = "ag-ui"
    title = "AG-UI"

    verbs: WireVerbs
    threads: Threads
    archiver: Archiver

    def served(self) -> Wire:
        """Return the protocol."""
        from hosting.features.ag_ui import names
        from hosting.features.ag_ui.requests import AG_UI_DOCUMENT
        from hosting.features.ag_ui.verbs import AgUiVerbs

        reply = AgUiVerbs(self.verbs, self.threads, self.archiver).reply
        return Wire(names.RUN.function, names.PATH, AG_UI_DOCUMENT, names.ag_ui_operation, reply, names.ag_ui_refusal)
