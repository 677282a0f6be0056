"""Calls of the tools of skills, which the framework's `SkillsProvider` makes anew for each run.

Theory. To load a skill or to read a resource of it changes nothing. To run a script is a call of the script's own code,
which the tool finds by the names in its arguments. So a script is declared idempotent by its function or its runner; a
skill, and a provider, stand for all their scripts, as an MCP server stands for its tools. The framework runs such code
on the loop, whatever it is: what is synchronous runs in a thread here, as a synchronous tool does.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hosting.tools import IDEMPOTENT

_SKILLS = "agent_framework._skills"

Next = Callable[[], Awaitable[None]]


async def skill_call(tool: Any, arguments: Any, call_next: Next) -> tuple[bool, Next]:
    """Return whether it is harmless to make this call of a tool again, as far as skills go, and what makes it.

    That is `call_next` itself, or a function that has it in a thread where the code of a script would block the loop.
    """
    if getattr(getattr(tool, "func", None), "__module__", "") != _SKILLS:
        return False, call_next
    from agent_framework import FileSkillScript, SkillsProvider  # who has such a tool has imported them

    if tool.name != SkillsProvider.RUN_SKILL_SCRIPT_TOOL_NAME:
        return True, call_next
    held = inspect.getclosurevars(tool.func).nonlocals
    names = arguments if isinstance(arguments, Mapping) else {}
    name = str(names.get("skill_name", "")).lower()
    skill = next((skill for skill in held["skills"] if skill.frontmatter.name.lower() == name), None)
    script = None if skill is None else await skill.get_script(str(names.get("script_name", "")))
    code = script._runner if isinstance(script, FileSkillScript) else getattr(script, "function", None)
    is_harmless = any(getattr(part, IDEMPOTENT, False) for part in (held["self"], skill, script, code))
    return is_harmless, call_next if code is None or _is_async(code) else _in_thread(call_next)


def _in_thread(call_next: Next) -> Next:
    async def call() -> None:
        await call_next()

    async def call_in_thread() -> None:
        await asyncio.to_thread(lambda: asyncio.run(call()))

    return call_in_thread


def _is_async(code: Any) -> bool:
    return inspect.iscoroutinefunction(inspect.unwrap(code)) or inspect.iscoroutinefunction(type(code).__call__)
