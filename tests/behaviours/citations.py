"""What readers of an answer are promised of its citations (docs/guides/file-search.md)."""

BEHAVIOURS = {
    "citations.answer": "An answer has its citations, each once: over HTTP, on the stream, and when it is read again.",
    "citations.clients": "The official clients of each protocol read what an answer cites, in its own place.",
    "citations.page": "The page shows numbers for the marks of an answer, and its sources below.",
    "citations.responses": "A response has them as the protocol's annotations, at the places of their marks.",
}
