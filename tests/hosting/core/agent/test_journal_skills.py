"""Skills in the step journal: which of their calls are made again after a kill, and which are not."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, InlineSkill, SkillFrontmatter, SkillsProvider

from hosting.core.thread.run_request import RunRequest
from hosting.offline.model import OfflineChatClient
from hosting.tools import current, idempotent
from tests.support.killed_runs import AFTER_A_BEGIN, Ended, killed_and_finished
from tests.support.made_app import app_of, ask, served

pytestmark = pytest.mark.filterwarnings("ignore:.*experimental")

SKILL = "---\nname: counting\ndescription: Counts.\n---\nRun scripts/count.py.\n"
TOOLS_WITHOUT_APPROVAL: Mapping[str, Any] = {
    "disable_load_skill_approval": True,
    "disable_read_skill_resource_approval": True,
    "disable_run_skill_script_approval": True,
}


class Counted:
    """The calls that a skill's code had, by the key of each, and the threads that it ran in."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.threads: list[str] = []

    def note(self) -> None:
        """Note that the code runs."""
        self.calls[current().call_key] += 1
        self.threads.append(threading.current_thread().name.partition("_")[0])

    def inline(self, mark: Callable[[Any], Any] = lambda script: script) -> SkillsProvider:
        """A skill in code, whose script is declared by `mark`; its tools ask nobody."""
        skill = InlineSkill(frontmatter=SkillFrontmatter(name="counting", description="Counts."), instructions="Count.")

        def count(word: str) -> int:
            self.note()
            return len(word)

        async def count_later(word: str) -> int:
            self.note()
            return len(word)

        skill.script(mark(count))
        skill.script(count_later)
        return SkillsProvider(skill, **TOOLS_WITHOUT_APPROVAL)

    def run_file(self, skill: Any, script: Any, args: Any = None) -> str:
        """Run a script that is a file."""
        self.note()
        return f"ran {Path(script.full_path).name}"

    def in_files(self, folder: Path, run: Callable[..., Any] | None = None) -> SkillsProvider:
        """The skill as a folder, with a script that is a file."""
        files = {"SKILL.md": SKILL, "scripts/count.py": "print(1)\n", "words.md": "many\n"}
        for name, text in files.items():
            (folder / "counting" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "counting" / name).write_text(text, encoding="utf-8")
        return SkillsProvider.from_paths(folder, script_runner=run or self.run_file, **TOOLS_WITHOUT_APPROVAL)


async def killed(provider: SkillsProvider, tool: str, arguments: dict[str, Any], *, appends: int) -> Ended:
    """Have the model call the tool, kill the run after so many appends, and let another attempt end it."""
    agent = Agent(OfflineChatClient(), name="Joker", context_providers=[provider])
    request = RunRequest(message=f"Call {tool} with {json.dumps(arguments)}")
    return await killed_and_finished(agent, Counter(), request=request, appends=appends)


def call_of(script: str) -> dict[str, Any]:
    """Return the arguments of a call of that script, in code or in a file."""
    args: Any = ["four"] if script.endswith(".py") else {"word": "four"}
    return {"skill_name": "Counting", "script_name": script, "args": args}


FILE = "scripts/count.py"


@pytest.mark.behaviour("skills.scripts")
async def test_a_file_s_script_that_was_cut_off_is_not_run_again(tmp_path: Path) -> None:
    counted = Counted()

    ended = await killed(counted.in_files(tmp_path), "run_skill_script", call_of(FILE), appends=AFTER_A_BEGIN)

    assert (ended.terminal["code"], counted.calls) == ("run_interrupted", Counter())


PROVIDERS: Mapping[str, Callable[[Counted, Path], SkillsProvider]] = {
    "function": lambda counted, folder: counted.inline(idempotent),
    "provider": lambda counted, folder: idempotent(counted.inline()),
    "runner": lambda counted, folder: counted.in_files(folder, idempotent(partial(counted.run_file))),
}


@pytest.mark.behaviour("skills.scripts")
@pytest.mark.parametrize("declared", PROVIDERS)
async def test_a_script_that_is_declared_idempotent_is_run_again(declared: str, tmp_path: Path) -> None:
    """By its function; a skill, and a provider, stand for all their scripts. It has the same key."""
    counted, script = Counted(), FILE if declared == "runner" else "count"

    provider = PROVIDERS[declared](counted, tmp_path)
    ended = await killed(provider, "run_skill_script", call_of(script), appends=AFTER_A_BEGIN)

    assert (ended.terminal["kind"], list(counted.calls.values())) == ("completed", [1])
    assert all(key.startswith("r-1-1.") for key in counted.calls)
    assert ("ran count.py" if script == FILE else "4") in json.dumps(ended.terminal["entry"])


@pytest.mark.behaviour("skills.read-again")
@pytest.mark.parametrize(
    ("tool", "more", "said"),
    [("load_skill", {}, "Run scripts/count.py."), ("read_skill_resource", {"resource_name": "words.md"}, "many")],
)
async def test_reading_a_skill_is_done_again(tool: str, more: dict[str, str], said: str, tmp_path: Path) -> None:
    """It changes nothing, so a kill in the middle of it ends no run."""
    provider = Counted().in_files(tmp_path)

    ended = await killed(provider, tool, {"skill_name": "counting", **more}, appends=AFTER_A_BEGIN)

    assert ended.terminal["kind"] == "completed"
    assert said in json.dumps(ended.terminal["entry"])


@pytest.mark.behaviour("skills.threads")
@pytest.mark.parametrize(("script", "thread"), [("count_later", "agent-loop"), (FILE, "agent-tool")])
async def test_a_script_that_blocks_holds_up_no_other_agent(script: str, thread: str, tmp_path: Path) -> None:
    """A synchronous one runs in a thread, as a tool does; an asynchronous one on the agents' loop."""
    counted = Counted()
    provider = counted.in_files(tmp_path) if script == FILE else counted.inline()
    agent = Agent(OfflineChatClient(), name="Joker", context_providers=[provider])

    async with served(app_of(agent)) as (_, http):
        await ask(http, f"Call run_skill_script with {json.dumps(call_of(script))}")

    assert counted.threads == [thread]
