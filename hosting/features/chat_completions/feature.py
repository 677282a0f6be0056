"""OpenAI Chat Completions, by which chat front ends and most model clients call the app's agents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from hosting.core.threads import Threads
from hosting.feature import Wire, WireFeature
from hosting.http.wire import WireVerbs


@dataclass(frozen=True, eq=False)
class ChatCompletionsFeature(WireFeature):
    """The Chat Completions wire of one app. A completion is a run, of a thread of its own unless it names one."""

    name = "chat_completions"
    wire = "chat-completions"
    title = "Chat Completions"
    door = "v1"
    links: ClassVar = {"chat_completions_url": "/chat/v1"}
    page = Path(__file__).with_name("ui")

    verbs: WireVerbs
    threads: Threads

    def served(self) -> Wire:
        """Return the protocol."""
        from hosting.features.chat_completions import names
        from hosting.features.chat_completions.requests import CHAT_DOCUMENT
        from hosting.features.chat_completions.verbs import ChatVerbs
        from hosting.http.wire_openai import openai_refusal
        from hosting.http.wire_requests import operation_of

        reply = ChatVerbs(self.verbs, self.threads).reply
        route_of = partial(operation_of, names.OPERATIONS, "docs/reference/chat-completions.md")
        return Wire(names.FUNCTION, names.CHAT.path, CHAT_DOCUMENT, route_of, reply, openai_refusal)
