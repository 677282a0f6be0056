"""What this process exports by OpenTelemetry's own SDK: the spans of all that it does, in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.support.carriers import GUARD_SECONDS


class Exported(InMemorySpanExporter):
    """Spans in memory, which tells of each, whichever thread ends it."""

    def __init__(self) -> None:
        super().__init__()
        self._news = threading.Condition()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep the spans, and wake who waits for one."""
        with self._news:
            self._news.notify_all()
            return super().export(spans)

    async def named(self, name: str, number: int = 1) -> ReadableSpan:
        """Return the last of so many spans of that name, under the guard."""

        def found() -> list[ReadableSpan]:
            return [span for span in self.get_finished_spans() if span.name == name]

        def wait() -> bool:
            with self._news:
                return self._news.wait_for(lambda: len(found()) >= number, GUARD_SECONDS)

        assert await asyncio.to_thread(wait), f"{number} spans {name!r} did not end"
        return found()[number - 1]
