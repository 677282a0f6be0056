"""The citations of a run's answer, whichever agent of the run has searched.

Theory. An agent that is a tool, or an executor of a workflow, may search, and another one says what it found: its marks
come along in the text. The results of the searches are recorded steps of the run, so every attempt knows all of them.
"""

from __future__ import annotations

from typing import Any

from agent_framework import AgentResponse

from hosting.core.thread.run import Run
from hosting.features.uploads.search.provider import annotate_from
from hosting.http.cited import passages_found


def cite(run: Run, response: AgentResponse[Any]) -> None:
    """Add to the answer, as annotations, the passages that the run found and whose marks the answer has."""
    annotate_from(passages_found(run), response.messages)
