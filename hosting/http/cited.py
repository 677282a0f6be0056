"""What a run's answer cites, as the doors of other protocols show it.

Theory. The results of searches are recorded steps of the run. So what was found by any agent within it is known before
the run has ended, and by every attempt: a message of the answer may have citations when it ends, not only the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from mimetypes import guess_type
from typing import Any

from hosting.citations import (
    FILE_SEARCH,
    Citation,
    CitedText,
    annotated,
    citations_of,
    cited_in,
    cited_texts,
    openai_annotations,
    passages_of,
    recorded_texts,
)
from hosting.core.thread.events import Completed, ModelResult, Terminal, ToolResult, ToolStarted
from hosting.core.thread.run import Run, contents_text


def passages_found(run: Run) -> dict[str, Citation]:
    """Return the passages that searches of a run have found, by their marks: those of all agents within it."""
    searches = {step.key for step in run.steps if isinstance(step, ToolStarted) and step.name == FILE_SEARCH}
    passages: dict[str, Citation] = {}
    for step in run.steps if searches else ():
        if isinstance(step, ToolResult) and step.key in searches:
            passages |= passages_of(step.text if step.contents is None else contents_text(step.contents))
    return passages


def message_annotations(run: Run, text: str) -> list[dict[str, Any]]:
    """Return OpenAI's annotations of a message of the answer, at the end of the message."""
    return openai_annotations(
        text, cited_texts(run.end.response) if isinstance(run.end, Completed) else _so_far(run, text)
    )


def _so_far(run: Run, text: str) -> Iterator[CitedText]:
    passages = [annotated(text, citation) for citation in cited_in(text, passages_found(run))]
    if passages:
        yield CitedText(text, passages)
    newest = next((step for step in reversed(run.steps) if isinstance(step, ModelResult) and not step.within), None)
    if newest is not None:
        yield from recorded_texts(newest.response)


def citations_at(end: Terminal | None) -> list[Citation]:
    """Return what the answer cites with which a run has ended."""
    return citations_of(end.response) if isinstance(end, Completed) else []


def cited_of(end: Terminal | None) -> dict[str, Any]:
    """Return the member `citations` of a protocol that has no other place for them; empty without any."""
    citations = citations_at(end)
    return {"citations": citations} if citations else {}


def media_type_of(citation: Citation) -> str:
    """Return the media type that the ending of a cited file's name says."""
    return guess_type(citation["name"])[0] or "application/octet-stream"
