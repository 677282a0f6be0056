"""A newcomer's first hour with tests: a new app, `add`, a test by the guide, a tool that acts before it records."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.support.pages import code, page

STEP = "before the result of 'refund' was recorded"
RED = f"tests/test_refund.py::test_refund[killed {STEP}]"
TOOL = '''"""The tool `refund`."""

from pathlib import Path

from agent_framework import tool
from durable_agent_host import current, idempotent

LEDGER = Path(__file__).parents[1] / "ledger.txt"


@idempotent
@tool
async def refund(text: str) -> str:
    """Pay an order back."""
    print("paying an order back", flush=True)
{pays}
    return f"refund got {{text}}"
'''
PLANTED = """    with LEDGER.open("a") as ledger:
        ledger.write(f"{text}\\n")"""
MENDED = """    if current().call_key not in LEDGER.read_text():
        with LEDGER.open("a") as ledger:
            ledger.write(f"{text} {current().call_key}\\n")"""
TEST = '''"""The refund, as the guide tests it."""

import pytest

from tools.refund import LEDGER


@pytest.mark.killed_at("each step")
def test_refund(ask, model):
    LEDGER.write_text("")
    model.calls("refund", text="A-17").says("Paid, dear secret customer.")
    assert ask("Pay A-17 back", agent="support").text == "Paid, dear secret customer."
    assert [line.split()[0] for line in LEDGER.read_text().splitlines()] == ["A-17"]
'''


@dataclass(frozen=True)
class Printed:
    """What `dev.py test` printed: the outcome of each test by its name."""

    returncode: int
    printed: str

    @cached_property
    def outcomes(self) -> dict[str, str]:
        """The outcomes."""
        return dict(re.findall(r"^(tests/\S+::.+?) (PASSED|FAILED|ERROR)\b", self.printed, re.MULTILINE))

    @property
    def red(self) -> list[str]:
        """The tests that did not pass."""
        return [name for name, outcome in self.outcomes.items() if outcome != "PASSED"]


def outcomes_of(app: Path, *arguments: str) -> Printed:
    """Type `python dev.py test`."""
    command = [sys.executable, "dev.py", "test", "-v", *arguments]
    ended = subprocess.run(command, cwd=app, env=dict(os.environ), capture_output=True, text=True, check=False)
    return Printed(ended.returncode, ended.stdout + ended.stderr)


@pytest.mark.slow(seconds=35)
@pytest.mark.timeout(600)
@pytest.mark.behaviour("testing.walk")
@pytest.mark.behaviour("testing.new-app")
def test_a_newcomer_adds_a_tool_tests_it_sees_its_fault_and_mends_it(made: Path, both_installed: Path) -> None:
    """The tests that were written for the app and its tool pass as they are, and so do those of the guide.

    A refund that acts before the app records it is red at one of eight kills, and with the key of its call green there.
    """
    for added in (("agent", "support"), ("tool", "refund", "--agent", "support")):
        subprocess.run([str(both_installed / "durable-agent-host"), "add", *added], cwd=made, check=True)
    guide, *_ = code(page("docs/guides/testing.md"), "python")
    (made / "tests" / "test_guide.py").write_text(guide, encoding="utf-8")
    as_written = outcomes_of(made, "--killed-at-most=1")  # test_plugin.py has all of those of the guide
    (made / "tests" / "test_refund.py").write_text(TEST, encoding="utf-8")
    (made / "tools" / "refund.py").write_text(TOOL.format(pays=PLANTED), encoding="utf-8")
    planted = outcomes_of(made, "tests/test_refund.py")
    (made / "tools" / "refund.py").write_text(TOOL.format(pays=MENDED), encoding="utf-8")
    mended = outcomes_of(
        made, "tests/test_refund.py", "--killed-at", STEP, "--killed-at", STEP.replace("before", "after")
    )

    files = [name.partition("::")[0].removeprefix("tests/") for name in as_written.outcomes]
    assert (as_written.returncode, as_written.red) == (0, []), as_written.printed
    written = {"test_app.py": 4, "test_agent_support.py": 1, "test_tool_refund.py": 3, "test_guide.py": 2 + 1 + 1}
    assert Counter(files) == written
    assert (planted.returncode, planted.red, len(planted.outcomes)) == (1, [RED], 1 + 8)
    assert "paying an order back" in planted.printed.partition("agent_app, the process that ended")[2]
    assert (mended.returncode, mended.red, len(mended.outcomes)) == (0, [], 1 + 2), mended.printed
