"""Every HTTP route that the library serves, below the host's prefix (http-api.md section 3). `run` is one per agent."""

from __future__ import annotations

from dataclasses import dataclass

_THREAD = "agents/{name}/threads/{thread_id}"
_RUN = f"{_THREAD}/runs/{{run_id}}"


@dataclass(frozen=True)
class Route:
    """A verb on a path, and the function that serves it."""

    function: str
    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


HEALTH = Route("health_check", "GET", "health")
READY = Route("health_ready", "GET", "health/ready")
AGENTS = Route("http_agents", "GET", "agents")
RUN = Route("http-<name>", "POST", "agents/{name}/run")
THREADS = Route("http_threads", "GET", "agents/{name}/threads")
THREAD = Route("http_thread", "GET", _THREAD)
DELETE_THREAD = Route("http_thread_delete", "DELETE", _THREAD)
RUNS = Route("http_thread_runs", "GET", f"{_THREAD}/runs")
MESSAGES = Route("http_thread_messages", "GET", f"{_THREAD}/messages")
RESET = Route("http_thread_reset", "POST", f"{_THREAD}/reset")
EXPORT = Route("http_thread_export", "GET", f"{_THREAD}/export")
STATUS = Route("http_run_status", "GET", _RUN)
CANCEL = Route("http_run_cancel", "POST", f"{_RUN}/cancel")

ROUTES = (
    HEALTH,
    READY,
    AGENTS,
    RUN,
    THREADS,
    THREAD,
    DELETE_THREAD,
    RUNS,
    MESSAGES,
    RESET,
    EXPORT,
    STATUS,
    CANCEL,
)
