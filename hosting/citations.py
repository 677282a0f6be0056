"""The citations of an answer: what agent-framework keeps as annotations of its text, as every door shows it.

Theory. Whatever adds a citation adds agent-framework's own annotation to the text: `file_search` does, and so do some
models' clients. An annotation stands in the stored answer with its text. So it is read there alike for our own wire and
for other protocols, and a fork, an export and an erasure of the thread have it without more ado. A citation of
`file_search` has a `mark`, which stands in the text at each place that it supports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from state.models import OURS, ResponseEntry

OPENAI_FILE_PREFIX = "file-"
"""How the ids of the app's files begin for OpenAI's clients."""


class Citation(TypedDict):
    """A source of an answer: a file by its id, or another one by its URL.

    `page` counts from 1 (of a slide or a sheet: its number), `heading` is the one above the passage, and `start` and
    `end` count the characters of the file's text. `mark` is the text that stands in the answer wherever it cites this.
    """

    name: str
    file_id: NotRequired[str]
    url: NotRequired[str]
    mark: NotRequired[str]
    page: NotRequired[int]
    heading: NotRequired[str]
    start: NotRequired[int]
    end: NotRequired[int]


class Cited(TypedDict):
    """The member of an answer that has citations."""

    citations: NotRequired[list[Citation]]


_PLACE: Mapping[str, type] = {"mark": str, "page": int, "heading": str, "start": int, "end": int}


def citations_of(response: object) -> list[Citation]:
    """Return the citations of a stored answer, each once, in the order of their first places in it."""
    if not isinstance(response, ResponseEntry):
        return []
    citations: list[Citation] = []
    for message in response.messages:
        for content in message.contents:
            if extra := content.model_extra:  # nearly every text has none
                for annotation in _annotations(extra.get(OURS)):
                    if (citation := _citation(annotation)) is not None and citation not in citations:
                        citations.append(citation)
    return citations


def openai_annotations(text: str, citations: Iterable[Citation]) -> list[dict[str, Any]]:
    """Return those citations that a text has as OpenAI's annotations of it.

    There is one for each mark of a file, at its first character; and one for a whole text that cites a URL.
    """
    files: list[dict[str, Any]] = []
    urls: list[dict[str, Any]] = []
    for citation in citations:
        if "url" in citation:
            span = {"start_index": 0, "end_index": len(text)}
            urls.append({"type": "url_citation", "url": citation["url"], "title": citation["name"], **span})
        elif mark := citation.get("mark", ""):
            file_id = f"{OPENAI_FILE_PREFIX}{citation.get('file_id', '')}"
            file = {"type": "file_citation", "file_id": file_id, "filename": citation["name"]}
            files += [{**file, "index": start} for start in places(text, mark)]
    return [*sorted(files, key=lambda file: file["index"]), *urls]


def places(text: str, mark: str) -> Iterator[int]:
    """Iterate over the first characters of the places where a text has a mark."""
    start = text.find(mark)
    while start >= 0:
        yield start
        start = text.find(mark, start + len(mark))


def _annotations(ours: object) -> list[Mapping[str, Any]]:
    annotations = ours.get("annotations") if isinstance(ours, dict) else None
    return [item for item in annotations if isinstance(item, dict)] if isinstance(annotations, list) else []


def _citation(annotation: Mapping[str, Any]) -> Citation | None:
    """Return the citation that a stored annotation is; None for one of another kind, or of nothing."""
    if annotation.get("type") != "citation":
        return None
    source = {name: annotation[name] for name in ("file_id", "url") if annotation.get(name)}
    more = annotation.get("additional_properties")
    known = more if isinstance(more, dict) else {}
    place = {name: known[name] for name, kind in _PLACE.items() if type(known.get(name)) is kind}
    name = str(annotation.get("title") or annotation.get("url") or annotation.get("file_id") or "")
    citation: Any = {"name": name, **{key: str(value) for key, value in source.items()}, **place}
    return citation if source and name else None
