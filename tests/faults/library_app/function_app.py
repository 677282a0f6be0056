"""An agent that searches files, whose client of embeddings stands still at the call that the file HOLDS names.

It stands while the file is there, and a file beside it says so. ASKED has a line for each call: how many texts it got,
and the first words of the first one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_framework import GeneratedEmbeddings

from hosting.app import AgentFunctionApp, FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searcher import searcher

ASKED = Path(os.environ["ASKED"])
HOLDS = Path(os.environ["HOLDS"])


class Held(HashedWords):
    """Says what it was asked, and lets go of its answer when it may."""

    async def get_embeddings(self, values: Sequence[str], *, options: Any = None) -> GeneratedEmbeddings[Any, Any]:
        """Return the vectors, late where it is held."""
        with ASKED.open("a", encoding="utf-8") as file:
            file.write(f"{len(values)} {' '.join(values[0].split()[:3])}\n")
        calls = len(ASKED.read_text("utf-8").splitlines())
        if HOLDS.exists() and calls >= int(HOLDS.read_text("utf-8")):
            HOLDS.with_suffix(".stands").touch()
            while HOLDS.exists():  # noqa: ASYNC110 - another process removes it
                await asyncio.sleep(0.05)
        return await super().get_embeddings(values, options=options)


app = AgentFunctionApp(agents=[searcher(FileSearch(embeddings=Held(), chunk_tokens=100, overlap_tokens=0))])
