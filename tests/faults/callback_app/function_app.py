"""The scripted agent with a callback that writes down what it is told, in a process that may die of that.

KILL_AT is `before` or `after` the writing; TOLD names the file.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from scripted import scripted_agent

from hosting.app import AgentFunctionApp

kill_at = os.environ.get("KILL_AT")


class Writing:
    """One line for each call."""

    def on_agent_response(self, response: Any, context: Any) -> None:
        """Write the run's id and its answer."""
        self._write(f"{context.run_id} {response.text}")

    def on_agent_failure(self, error: Any, context: Any) -> None:
        """Write the run's id and the error's code."""
        self._write(f"{context.run_id} {error.code}")

    def _write(self, line: str) -> None:
        if kill_at == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        with Path(os.environ["CALLS"]).open("a", encoding="utf-8") as received:
            received.write(f"{line}\n")
        if kill_at == "after":
            os.kill(os.getpid(), signal.SIGKILL)


app = AgentFunctionApp(agents=[scripted_agent("Joker")], default_callback=Writing())
