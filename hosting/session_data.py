"""How the framework's context providers erase what they keep of a session outside of it.

The framework has no word for that. Its history providers for Redis and vector stores have `clear(session_id)`, and so
may any other. Those that keep files have none: their files are named by the session.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any


async def erase_session_data(provider: Any, session_id: str) -> None:
    """Have a provider erase its data of a session; again changes nothing. Raises what the provider raises."""
    if callable(clear := getattr(provider, "clear", None)):
        is_async = inspect.iscoroutinefunction(clear)
        cleared = clear(session_id) if is_async else await asyncio.to_thread(clear, session_id)
        if inspect.isawaitable(cleared):
            await cleared
        return
    from agent_framework import AgentSession, FileHistoryProvider, FileMemoryProvider, TodoFileStore, TodoProvider

    if isinstance(provider, FileHistoryProvider):
        await asyncio.to_thread(provider._session_file_path(session_id).unlink, missing_ok=True)
    elif isinstance(provider, TodoProvider) and isinstance(provider.store, TodoFileStore):
        session = AgentSession(session_id=session_id)
        path = provider.store._get_state_path(session, source_id=provider.source_id)
        await asyncio.to_thread(path.unlink, missing_ok=True)
    elif isinstance(provider, FileMemoryProvider) and provider.scope is None:
        for entry in await provider.store.list_children(session_id):
            if entry.type == entry.FILE:
                await provider.store.delete(f"{session_id}/{entry.name}")
