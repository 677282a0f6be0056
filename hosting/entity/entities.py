"""The entities of one process's agents, made of what those share, whichever durable SDK serves them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from hosting.agent.loop import AgentLoop
from hosting.agent.runner import AgentRunner
from hosting.app_stores import Stores
from hosting.callback.listeners import Listeners
from hosting.callback.notices import notice
from hosting.callback.updates import Listener
from hosting.entity.archiving import Archiving
from hosting.entity.attaching import Attaching
from hosting.entity.capacity import Capacity
from hosting.entity.entity import AgentEntity
from hosting.entity.keeping import Keeping
from hosting.events import Accepted
from hosting.plan import AgentPlan
from hosting.request.limits import limits_of
from hosting.retry import Retry
from hosting.run.turn import Turns
from hosting.settings import Settings


class Entities:
    """Makes the entity of an agent."""

    def __init__(
        self,
        settings: Settings,
        loop: AgentLoop,
        stores: Stores,
        *,
        listeners: Listeners | None = None,
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`turn` is entered for each batch, and may raise to have it delivered again."""
        self._settings = settings
        self._loop = loop
        self._stores = stores
        self._listeners = listeners
        self._turn = turn

    def of(
        self,
        planned: AgentPlan,
        run_timeout_seconds: float,
        ttl_seconds: float | None = None,
        retry: Retry | None = None,
    ) -> AgentEntity:
        """Return the entity: without `ttl_seconds` its threads have no end, `retry` is for requests that bring none.

        Raises `ConfigurationError` for an agent that cannot be run as one.
        """
        settings = self._settings.model_copy(update={"run_timeout_seconds": run_timeout_seconds})
        capacity = Capacity(planned.name, settings.state_limit_bytes)
        runner = AgentRunner(planned.agent, planned.name, self._loop, settings.context_tokens)
        stores = self._stores
        turns = Turns(runner, stores.log, settings, time.time, capacity, retry=retry, listener=self._heard_by)
        limits = limits_of(planned.agent, settings)
        return AgentEntity(
            planned.name,
            turns,
            stores.log,
            time.time,
            keeping=Keeping(capacity, Archiving(stores.archive, settings.document_bytes)),
            archive=stores.archive,
            attaching=Attaching(stores.attachments, settings.attachment_bytes),
            limits=limits,
            ttl_seconds=ttl_seconds,
            notice=notice if self._is_heard(planned.name) else None,
            turn=self._turn,
        )

    def _is_heard(self, agent: str) -> bool:
        return self._listeners is not None and self._listeners.hears(agent)

    def _heard_by(self, accepted: Accepted) -> Listener | None:
        return self._listeners.begin(accepted) if self._listeners is not None else None
