"""The AI SDK's stream protocol, by which a page with `useChat` calls the app's agents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from hosting.core.archiving import Archiver
from hosting.core.threads import Threads
from hosting.feature import Wire, WireFeature
from hosting.http.wire import WireVerbs


@dataclass(frozen=True, eq=False)
class AiSdkFeature(WireFeature):
    """The AI SDK wire of one app. A chat is a thread, and each message of its user a run."""

    name = "ai_sdk"
    wire = "ai-sdk"
    title = "AI SDK UI"
    links: ClassVar = {"ai_sdk_url": "/ai-sdk/{name}"}
    page = Path(__file__).with_name("ui")

    verbs: WireVerbs
    threads: Threads
    archiver: Archiver

    def served(self) -> Wire:
        """Return the protocol."""
        from hosting.features.ai_sdk import names
        from hosting.features.ai_sdk.requests import AI_SDK_DOCUMENT
        from hosting.features.ai_sdk.verbs import AiSdkVerbs
        from hosting.http.wire_requests import operation_of

        reply = AiSdkVerbs(self.verbs, self.threads, self.archiver).reply
        route_of = partial(operation_of, names.OPERATIONS, "docs/reference/ai-sdk.md")
        return Wire(names.FUNCTION, names.PLACE.path, AI_SDK_DOCUMENT, route_of, reply, names.ai_sdk_refusal)
