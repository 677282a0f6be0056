"""The URLs where a person answers an executor's question: for executors that send mail or chat messages.

The class has the names of that in agent-framework-azurefunctions. It is exported from `hosting.app`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from hosting.core.agent.framework_graphs import asked_last
from hosting.core.thread.messages import approval_id
from hosting.core.thread.run import Run
from hosting.names import APP

HOST_NAME = "WEBSITE_HOSTNAME"
_LOOPBACK = ("localhost", "127.", "[::1]")


@dataclass(frozen=True)
class WorkflowHitlContext:
    """The run of an executor: `instance_id` is its thread, and `run_id` the run with the requests that are answered.

    Two owners may each have an instance of one id; `owner` is its owner, "app" in an app without owners, and
    `thread_key` that of no other. Get it by `from_context`, in a handler of an executor. The URLs of an agent that is a
    workflow (`is_agent`) are those of the agent's thread.
    """

    instance_id: str
    workflow_name: str
    run_id: str
    route_prefix: str = "api"
    base_url_override: str | None = None
    owner: str = APP
    thread_key: str = ""
    is_agent: bool = False

    @classmethod
    def from_context(cls, ctx: Any, *, base_url: str | None = None) -> WorkflowHitlContext | None:
        """Return that of the run that this code is in, or None where no app of this library runs it.

        `base_url` is scheme and host of the app, such as `https://example.com`, where callers do not reach it by its
        own host name.
        """
        context = _CURRENT.get()
        return None if context is None else replace(context, base_url_override=base_url)

    @staticmethod
    async def pending_request_id(ctx: Any) -> str | None:
        """Return the id of the last question, or None. Call it right after `ctx.request_info`."""
        return await asked_last(ctx)

    @property
    def base_url(self) -> str:
        """Scheme and host, without a slash at the end: as given, else by the app setting WEBSITE_HOSTNAME.

        Raises `RuntimeError` where neither is there.
        """
        host = self.base_url_override or os.environ.get(HOST_NAME)
        if not host:
            raise RuntimeError(
                f"There is no {HOST_NAME}, so URLs cannot be built. Set it, as to localhost:7071, or give base_url."
            )
        if not host.startswith(("http://", "https://")):
            host = f"{'http' if host.startswith(_LOOPBACK) else 'https'}://{host}"
        return host.rstrip("/")

    def build_respond_url(self, request_id: str) -> str:
        """Return the URL that takes the answer to a request, by the id that the framework gave it.

        Raises `RuntimeError` where there is no host name.
        """
        answered = f"{self._url('')}/approvals" if self.is_agent else self._url("respond")
        return f"{answered}/{approval_id(self.run_id, request_id)}"

    def build_status_url(self) -> str:
        """Return the URL of the workflow's status and questions. Raises `RuntimeError` as above."""
        return self._url("status")

    def _url(self, verb: str) -> str:
        name, thread = quote(self.workflow_name), quote(self.instance_id)
        place = f"agents/{name}/threads/{thread}" if self.is_agent else f"workflow/{name}/{verb}/{thread}"
        place = f"{self.route_prefix}/{place}"
        return f"{self.base_url}/{place.lstrip('/')}"


_CURRENT: ContextVar[WorkflowHitlContext | None] = ContextVar("hitl_context", default=None)


@contextmanager
def entered(run: Run, workflow_name: str, route_prefix: str, *, is_agent: bool = False) -> Iterator[None]:
    """Let executors that run within know their run."""
    place = WorkflowHitlContext(run.accepted.thread_id, workflow_name, run.run_id, route_prefix)
    token = _CURRENT.set(replace(place, owner=run.address.owner, thread_key=run.thread_key, is_agent=is_agent))
    try:
        yield
    finally:
        _CURRENT.reset(token)
