"""A workflow that answers with pictures, sound, files and links."""

from __future__ import annotations

from typing import Never

from agent_framework import Content, Executor, Message, Workflow, WorkflowBuilder, WorkflowContext, handler

PICTURE, SOUND, TABLE = b"\x89PNG", b"RIFF", "n;\u20ac\n1;2"
LATIN = "\u00e9".encode("latin-1")
CONTENTS = {
    "words": Content.from_text("See:"),
    "picture": Content.from_data(PICTURE, "image/png"),
    "sound": Content.from_data(SOUND, "audio/wav"),
    "table": Content.from_data(TABLE.encode(), "text/csv"),
    "latin": Content.from_data(LATIN, "text/plain"),
    "archive": Content.from_data(b"PK", "application/zip"),
    "link": Content.from_uri("https://example.com/a.png", media_type="image/png"),
}


class Painter(Executor):
    """Answers with the contents that a text names."""

    @handler
    async def paint(self, text: str, ctx: WorkflowContext[Never, Message]) -> None:
        """Yield them as one message."""
        await ctx.yield_output(Message("assistant", [CONTENTS[name] for name in text.split()]))


def painter_flow() -> Workflow:
    """Return the workflow."""
    return WorkflowBuilder(name="Painter", start_executor=Painter("painter")).build()
