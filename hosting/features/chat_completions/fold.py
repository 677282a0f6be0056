"""Folds the updates of one run into the protocol's chunks, and an ended run into its completion.

Theory. A chunk cannot be taken back. So the text that was sent is compared with the text as it stands: what continues
it is sent, and where it stands no more (another attempt, or middleware, has another text) the stream ends with an
error. Nothing is sent between the two, so a reader never has a text that the thread does not have. A run whose message
joined another one has no text: the chunks under its id go on with that of the other, `answered_by` it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hosting.core import transcript
from hosting.core.outcome import completed_text, run_error
from hosting.core.thread.events import Completed, Joined, Terminal
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run
from hosting.errors import ApprovalsPendingError, RunFailedError
from hosting.features.chat_completions.calls import shown_calls
from hosting.http.wire_openai import ignored_metadata, openai_usage
from hosting.http.wire_runs import ItemFold, RewrittenError, awaits_results

Chunk = dict[str, Any]


class ChatFold(ItemFold[Chunk]):
    """One run: `chunks` are those that are new, once updates were folded by `next`."""

    def __init__(self, agent: str, run: Run, *, names_causes: bool, counts_usage: bool) -> None:
        super().__init__(run, names_causes=names_causes)
        self._agent, self._names_causes = agent, names_causes
        self._counts_usage = counts_usage
        self._texts: list[transcript.AgentMessage] = []
        self._sent: str | None = None
        self._thoughts, self._has_thought, self._has_ended = "", False, False
        self._chunk_of = _object("chat.completion.chunk", agent, run)

    def answered_by(self, run: Run) -> ChatFold:
        """Return the fold of the run that this one's message joined, whose chunks continue the same completion."""
        fold = ChatFold(self._agent, run, names_causes=self._names_causes, counts_usage=self._counts_usage)
        fold._sent, fold._chunk_of, fold._has_ended = self._sent, self._chunk_of, self._has_thought
        return fold

    def chunks(self) -> list[Chunk]:
        """Return the chunks that continue what was sent; raises the error that the stream ends with."""
        end = self.run.end
        if isinstance(end, Joined):
            return []
        if end is not None and not isinstance(end, Completed):
            raise run_error(end)
        if end is None:
            text = "\n\n".join(message.text for message in self._texts if message.text and not message.is_void)
        else:
            _refuse_waiting(end)
            text = completed_text(end)
        chunks = []
        if self._sent is None:
            self._sent = ""
            chunks.append(self._chunk({"role": "assistant", "content": ""}))
        if self._thoughts:
            chunks.append(self._chunk({"reasoning_content": self._thoughts}))
            self._thoughts = ""
        if not text.startswith(self._sent):
            raise RewrittenError("The text that was sent stands no more. Send the request again for the whole answer.")
        if more := text[len(self._sent) :]:
            chunks.append(self._chunk({"content": more}))
            self._sent = text
        if end is not None:
            calls = shown_calls(self.run)
            chunks += [self._chunk({"tool_calls": [{"index": at, **call}]}) for at, call in enumerate(calls)]
            chunks.append(self._chunk({}, _reason(end)))
            if self._counts_usage:
                chunks.append({**self._chunk_of, "choices": [], "usage": openai_usage(end, "prompt", "completion")})
        return chunks

    def _think(self, position: str, text: str) -> None:
        self._thoughts += f"\n\n{text}" if self._has_ended else text
        self._has_thought, self._has_ended = True, False

    def _end_thought(self, item: transcript.Item) -> None:
        """Have the next thought begin behind a blank line."""
        self._has_ended = self._has_thought

    def _project(self, position: str, item: transcript.Item) -> None:
        if isinstance(item, transcript.TextAdded) and item.message not in self._texts:
            self._texts.append(item.message)

    def _chunk(self, delta: Mapping[str, Any], reason: str | None = None) -> Chunk:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if self._counts_usage else {}
        return {**self._chunk_of, "choices": [choice], **usage}


def completion(agent: str, run: Run, ignored: Sequence[str], *, shows_thoughts: bool = False) -> dict[str, Any]:
    """Return the completion of a run that has ended; raises the error that it ended with.

    `ignored` are the parts of its request that had no effect.
    """
    end = run.end
    if not isinstance(end, Completed):
        raise RunFailedError("The run has no end.") if end is None else run_error(end)
    _refuse_waiting(end)
    text, calls = completed_text(end), shown_calls(run)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if calls:
        message |= {"content": text or None, "tool_calls": calls}
    if shows_thoughts and (thoughts := _thoughts(end)):
        message["reasoning_content"] = thoughts
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(end)}
    used = openai_usage(end, "prompt", "completion")
    metadata = {"metadata": ignored_metadata(ignored)} if ignored else {}
    return {**_object("chat.completion", agent, run), "choices": [choice], "usage": used, **metadata}


def _thoughts(end: Completed) -> str:
    """Return the thoughts of an answer, those of each model call in a paragraph."""
    messages = end.entry.get("messages", ())
    thoughts = (
        [content.get("text") or "" for content in message["contents"] if content.get("$type") == "reasoning"]
        for message in messages
    )
    return "\n\n".join(filter(None, map("".join, thoughts)))


def _object(kind: str, agent: str, run: Run) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run.run_id}", "object": kind, "created": int(run.accepted.at), "model": agent}


def _refuse_waiting(end: Completed) -> None:
    """Raise `ApprovalsPendingError` for a run that waits for a person: the protocol has no words for that."""
    if end.approvals and not awaits_results(end):
        tools = ", ".join(sorted({approval.tool for approval in end.approvals if approval.kind != "client_tool"}))
        raise ApprovalsPendingError(
            f"A person must decide on {tools}, and Chat Completions cannot ask. Name a thread by 'metadata.thread_id', "
            "and answer its approvals on the page or over HTTP."
        )


def _reason(end: Terminal) -> str:
    """Return why the answer ended, in the protocol's words; a whole answer has stopped."""
    if awaits_results(end):
        return "tool_calls"
    if not is_incomplete(end):
        return "stop"
    return "content_filter" if finish_reason(end) in ("content_filter", "refusal") else "length"
