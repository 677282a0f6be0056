"""An agent with a skill: a folder with instructions, a reference and a script, which it reads when it needs them."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from agent_framework import Agent, FileSkill, FileSkillScript, SkillsProvider

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp
from hosting.tools import idempotent

SKILLS = Path(__file__).parent / "skills"
LONGEST_SECONDS = 20


@idempotent
async def run_script(skill: FileSkill, script: FileSkillScript, args: Any = None) -> str:
    """Run a skill's script in a process of its own; the scripts of this app only compute, so they may run again."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, script.full_path, *(args or ()), stdout=asyncio.subprocess.PIPE
    )
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), LONGEST_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
    return printed.decode().strip()


clerk = Agent(
    client=create_chat_client(os.environ),
    name="clerk",
    description="Answers questions at a post office.",
    instructions="You work at a post office. Answer in one sentence.",
    context_providers=[
        SkillsProvider.from_paths(
            SKILLS,
            script_runner=run_script,
            disable_load_skill_approval=True,
            disable_read_skill_resource_approval=True,
            disable_run_skill_script_approval=True,
        )
    ],
)

app = AgentFunctionApp(agents=[clerk])
