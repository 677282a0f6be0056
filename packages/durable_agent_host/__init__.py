"""Agents as durable services on Azure Functions: `from durable_agent_host import AgentFunctionApp`.

The names of `__all__`, `durable_agent_host.state`, and what the pages of the documentation name are the public
interface; other modules may change with each version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hosting.app import AgentFunctionApp as AgentFunctionApp
    from hosting.bearer import bearer_token as bearer_token
    from hosting.client.connection import RemoteAgentError as RemoteAgentError
    from hosting.client.remote_agent import RemoteAgent as RemoteAgent
    from hosting.console.client import AgentClient as AgentClient
    from hosting.console.worker import AgentWorker as AgentWorker
    from hosting.core.entity.called_run import AgentRunError as AgentRunError
    from hosting.entra import entra as entra
    from hosting.features.callbacks.callbacks import AgentCallbackContext as AgentCallbackContext
    from hosting.features.callbacks.callbacks import AgentResponseCallbackProtocol as AgentResponseCallbackProtocol
    from hosting.features.memory.provider import OwnerMemory as OwnerMemory
    from hosting.features.metering.budgets import Budget as Budget
    from hosting.features.metering.budgets import Price as Price
    from hosting.features.metering.limits import Limit as Limit
    from hosting.features.search.engine import SearchHit as SearchHit
    from hosting.features.search.engine import SearchQuery as SearchQuery
    from hosting.features.search.engine import ThreadPlace as ThreadPlace
    from hosting.features.search.engine import ThreadText as ThreadText
    from hosting.features.triggers.client import AgentRun as AgentRun
    from hosting.features.triggers.trigger import SKIP as SKIP
    from hosting.features.triggers.trigger import AgentRequest as AgentRequest
    from hosting.features.uploads.search.index.contract import ChunkIndex as ChunkIndex
    from hosting.features.uploads.search.index.contract import ChunkQuery as ChunkQuery
    from hosting.features.uploads.search.index.contract import FoundChunk as FoundChunk
    from hosting.features.uploads.search.index.contract import IndexedChunk as IndexedChunk
    from hosting.features.uploads.search.index.contract import IndexSpace as IndexSpace
    from hosting.features.uploads.search.provider import FileSearch as FileSearch
    from hosting.features.workflows.hitl_context import WorkflowHitlContext as WorkflowHitlContext
    from hosting.offline.model import OfflineChatClient as OfflineChatClient
    from hosting.options import Retry as Retry
    from hosting.principal import Principal as Principal
    from hosting.principal import PrincipalRequest as PrincipalRequest
    from hosting.principal import PrincipalResolver as PrincipalResolver
    from hosting.principal import easy_auth as easy_auth
    from hosting.settings import report_misspelt as report_misspelt
    from hosting.shared_state import read_state as read_state
    from hosting.shared_state import write_state as write_state
    from hosting.tools import current as current
    from hosting.tools import destructive as destructive
    from hosting.tools import idempotent as idempotent
    from hosting.user_tokens import UserToken as UserToken
    from hosting.user_tokens import UserTokenError as UserTokenError
    from hosting.user_tokens import on_behalf_of as on_behalf_of

# Imported at the first use: a tool needs no app, a console worker no Functions SDK, and a command neither.
_MODULES = {
    "AgentCallbackContext": "hosting.features.callbacks.callbacks",
    "AgentClient": "hosting.console.client",
    "AgentFunctionApp": "hosting.app",
    "AgentRequest": "hosting.features.triggers.trigger",
    "AgentResponseCallbackProtocol": "hosting.features.callbacks.callbacks",
    "AgentRun": "hosting.features.triggers.client",
    "AgentRunError": "hosting.core.entity.called_run",
    "AgentWorker": "hosting.console.worker",
    "Budget": "hosting.features.metering.budgets",
    "ChunkIndex": "hosting.features.uploads.search.index.contract",
    "ChunkQuery": "hosting.features.uploads.search.index.contract",
    "FileSearch": "hosting.features.uploads.search.provider",
    "FoundChunk": "hosting.features.uploads.search.index.contract",
    "IndexSpace": "hosting.features.uploads.search.index.contract",
    "IndexedChunk": "hosting.features.uploads.search.index.contract",
    "Limit": "hosting.features.metering.limits",
    "OfflineChatClient": "hosting.offline.model",
    "OwnerMemory": "hosting.features.memory.provider",
    "Price": "hosting.features.metering.budgets",
    "Principal": "hosting.principal",
    "PrincipalRequest": "hosting.principal",
    "PrincipalResolver": "hosting.principal",
    "RemoteAgent": "hosting.client.remote_agent",
    "RemoteAgentError": "hosting.client.connection",
    "Retry": "hosting.options",
    "SKIP": "hosting.features.triggers.trigger",
    "SearchHit": "hosting.features.search.engine",
    "SearchQuery": "hosting.features.search.engine",
    "ThreadPlace": "hosting.features.search.engine",
    "ThreadText": "hosting.features.search.engine",
    "UserToken": "hosting.user_tokens",
    "UserTokenError": "hosting.user_tokens",
    "WorkflowHitlContext": "hosting.features.workflows.hitl_context",
    "bearer_token": "hosting.bearer",
    "current": "hosting.tools",
    "destructive": "hosting.tools",
    "easy_auth": "hosting.principal",
    "entra": "hosting.entra",
    "idempotent": "hosting.tools",
    "on_behalf_of": "hosting.user_tokens",
    "read_state": "hosting.shared_state",
    "report_misspelt": "hosting.settings",
    "write_state": "hosting.shared_state",
}

__all__ = [
    "SKIP",
    "AgentCallbackContext",
    "AgentClient",
    "AgentFunctionApp",
    "AgentRequest",
    "AgentResponseCallbackProtocol",
    "AgentRun",
    "AgentRunError",
    "AgentWorker",
    "Budget",
    "ChunkIndex",
    "ChunkQuery",
    "FileSearch",
    "FoundChunk",
    "IndexSpace",
    "IndexedChunk",
    "Limit",
    "OfflineChatClient",
    "OwnerMemory",
    "Price",
    "Principal",
    "PrincipalRequest",
    "PrincipalResolver",
    "RemoteAgent",
    "RemoteAgentError",
    "Retry",
    "SearchHit",
    "SearchQuery",
    "ThreadPlace",
    "ThreadText",
    "UserToken",
    "UserTokenError",
    "WorkflowHitlContext",
    "bearer_token",
    "current",
    "destructive",
    "easy_auth",
    "entra",
    "idempotent",
    "on_behalf_of",
    "read_state",
    "report_misspelt",
    "write_state",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
