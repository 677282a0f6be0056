"""The citations of an answer: what agent-framework keeps as annotations of its text, as every door shows it.

Theory. Whatever adds a citation adds agent-framework's own annotation to the text: `file_search` does, and so do some
models' clients. An annotation stands in the stored answer with its text. So it is read there alike for our own wire and
for other protocols, and a fork, an export and an erasure of the thread have it without more ado. A citation of
`file_search` has a `mark`, which stands in the text at each place that it supports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, NotRequired

from agent_framework import Annotation
from typing_extensions import TypedDict

from state.models import OURS, ResponseEntry

FILE_SEARCH = "file_search"
"""The tool whose results are passages, and whose name its annotations have."""
_MARK = re.compile(r"【[0-9a-f]{8}】")

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


class CitedText(NamedTuple):
    """A text of an answer with its annotations, as agent-framework has them."""

    text: str
    annotations: Sequence[Mapping[str, Any]]


def citations_of(response: object) -> list[Citation]:
    """Return the citations of a stored answer, each once, in the order of their first places in it."""
    citations: list[Citation] = []
    for cited in cited_texts(response):
        for annotation in cited.annotations:
            if (citation := _citation(annotation)) is not None and citation not in citations:
                citations.append(citation)
    return citations


def cited_texts(response: object) -> Iterator[CitedText]:
    """Iterate over the texts of a stored answer that have annotations."""
    for message in response.messages if isinstance(response, ResponseEntry) else ():
        for content in message.contents:
            if extra := content.model_extra:  # nearly every text has none
                ours = extra.get(OURS)
                if annotations := _objects(ours.get("annotations") if isinstance(ours, dict) else None):
                    yield CitedText(str(getattr(content, "text", "")), annotations)


def recorded_texts(answer: Mapping[str, Any]) -> Iterator[CitedText]:
    """Iterate over the texts of a recorded answer of a model, in the framework's own form, that have annotations."""
    for message in answer.get("messages") or ():
        for content in message.get("contents") or ():
            if annotations := _objects(content.get("annotations")):
                yield CitedText(str(content.get("text") or ""), annotations)


def openai_annotations(text: str, cited: Iterable[CitedText]) -> list[dict[str, Any]]:
    """Return what those texts cite that stand in a text, as OpenAI's annotations of it.

    There is one for each mark of a file, at its first character; and then one for each region that cites a URL. Those
    of a kind are in the order of their places.
    """
    placed: list[tuple[int, dict[str, Any]]] = []
    for part in cited:
        before = text.find(part.text)
        for annotation in part.annotations if before >= 0 else ():
            if (citation := _citation(annotation)) is not None:
                placed += _openai_annotations(citation, part.text, before, _regions(annotation, len(part.text)))
    annotations = [annotation for _, annotation in sorted(placed, key=itemgetter(0))]
    once = [annotation for number, annotation in enumerate(annotations) if annotation not in annotations[:number]]
    return sorted(once, key=lambda annotation: str(annotation["type"]))


def _openai_annotations(
    citation: Citation, text: str, before: int, regions: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the annotations that a citation of a text comes to, each with its place behind what stands `before`."""
    if "url" in citation:
        source = {"type": "url_citation", "url": citation["url"], "title": citation["name"]}
        for start, end in regions:
            yield before + start, {**source, "start_index": before + start, "end_index": before + end}
        return
    mark, file_id = citation.get("mark"), citation.get("file_id", "")
    own_id = f"{OPENAI_FILE_PREFIX}{file_id}" if mark else file_id
    source = {"type": "file_citation", "file_id": own_id, "filename": citation["name"]}
    for start in places(text, mark) if mark else (end for _, end in regions):
        yield before + start, {**source, "index": before + start}


def _regions(annotation: Mapping[str, Any], length: int) -> list[tuple[int, int]]:
    """Return where a text is annotated: its whole `length` if no place of it is named."""
    regions = [
        (region["start_index"], region["end_index"])
        for region in _objects(annotation.get("annotated_regions"))
        if type(region.get("start_index")) is int and type(region.get("end_index")) is int
    ]
    return [(start, end) for start, end in regions if 0 <= start <= end <= length] or [(0, length)]


def passages_of(result: object) -> dict[str, Citation]:
    """Return the citations of a result of `file_search` by their marks; none of a result that is no JSON of it."""
    try:
        passages = json.loads(result)["passages"] if isinstance(result, str) else ()
        return {passage["cite"]: _passage(passage) for passage in passages}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def cited_in(text: str, sources: Mapping[str, Citation]) -> list[Citation]:
    """Return those of the sources whose marks a text has, in the order of their first places in it."""
    return [sources[mark] for mark in dict.fromkeys(_MARK.findall(text)) if mark in sources]


def places(text: str, mark: str) -> Iterator[int]:
    """Iterate over the first characters of the places where a text has a mark."""
    start = text.find(mark)
    while start >= 0:
        yield start
        start = text.find(mark, start + len(mark))


def annotated(text: str, citation: Citation) -> Annotation:
    """Return a citation as agent-framework's annotation of a text, with the places of its mark there."""
    mark = citation.get("mark", "")
    return annotation_of(citation, [(start, start + len(mark)) for start in places(text, mark)] if mark else ())


def annotation_of(citation: Citation, regions: Iterable[tuple[int, int]]) -> Annotation:
    """Return a citation as agent-framework's annotation of a text.

    `regions` are where the text has its mark: each the first character and the one behind the last.
    """
    sources = ("name", "file_id", "url")
    annotation: Annotation = {
        "type": "citation",
        "title": citation["name"],
        "annotated_regions": [{"type": "text_span", "start_index": start, "end_index": end} for start, end in regions],
        "additional_properties": {name: value for name, value in citation.items() if name not in sources},
    }
    if "url" in citation:
        return {**annotation, "url": citation["url"]}
    return {**annotation, "file_id": citation.get("file_id", ""), "tool_name": FILE_SEARCH}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


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


def _passage(passage: Mapping[str, Any]) -> Citation:
    citation: Citation = {"name": passage["file"], "file_id": passage["file_id"], "mark": passage["cite"]}
    place: Any = {name: passage[name] for name in ("page", "heading", "start", "end") if name in passage}
    return {**citation, **place}
