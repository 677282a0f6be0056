"""OpenAI Responses and Conversations, by which OpenAI's clients and DevUI call the app's agents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.feature import Wire, WireFeature
from hosting.http.verbs import BeginsThreads, ContinuesRuns, KeepsFiles, NewestThreads
from hosting.http.wire import WireVerbs


@dataclass(frozen=True, eq=False)
class ResponsesFeature(WireFeature):
    """The Responses wire of one app. A conversation is a thread, a response a run of it."""

    name = "responses"
    wire = "responses"
    title = "Responses"
    door = "v1"
    links: ClassVar = {"responses_url": "/openai/v1"}
    page = Path(__file__).with_name("ui")

    verbs: WireVerbs
    threads: Threads
    older_runs: ContinuesRuns
    newest_threads: NewestThreads
    large_reads: LargeReads
    begins: BeginsThreads
    files: KeepsFiles

    def served(self) -> Wire:
        """Return the protocol."""
        from hosting.features.responses import names
        from hosting.features.responses.conversations import ConversationVerbs
        from hosting.features.responses.requests import responses_document
        from hosting.features.responses.verbs import ResponsesVerbs
        from hosting.http.wire_openai import openai_refusal
        from hosting.http.wire_requests import operation_of

        conversations = ConversationVerbs(self.verbs, self.threads, self.newest_threads, self.large_reads, self.begins)
        reply = ResponsesVerbs(self.verbs, self.threads, self.older_runs, conversations, self.files).reply
        operations = (*names.OPERATIONS, *self.files.operations())
        route_of = partial(operation_of, operations, "docs/reference/responses.md")
        return Wire(names.FUNCTION, names.OPENAI.path, responses_document(operations), route_of, reply, openai_refusal)
