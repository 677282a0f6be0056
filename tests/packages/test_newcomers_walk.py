"""A newcomer's first hour with tests: a new app, `add`, a test by the guide, a tool that acts before it records.

Each command is typed once, in their order; each test looks at what one of them showed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.support.pages import code, page

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("testing.walk"), pytest.mark.timeout(600)]

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


class Newcomer:
    """The app of a newcomer, who types commands in its folder."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs

    def adds(self, *arguments: str) -> str:
        """Type `add`, and return what it printed."""
        command = [str(self._programs / "durable-agent-host"), "add", *arguments]
        ended = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def writes(self, name: str, text: str) -> None:
        """Write a file of the app."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def tests(self, *arguments: str) -> Printed:
        """Type `python dev.py test`."""
        command = [sys.executable, "dev.py", "test", "-v", *arguments]
        ended = subprocess.run(
            command, cwd=self.folder, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        return Printed(ended.returncode, ended.stdout + ended.stderr)


@pytest.fixture(scope="module")
def newcomer(made: Path, both_installed: Path) -> Newcomer:
    """Who has added an agent and a tool to a new app, and written a test by the guide."""
    newcomer = Newcomer(made, both_installed)
    newcomer.adds("agent", "support")
    newcomer.adds("tool", "refund", "--agent", "support")
    tests, *_ = code(page("docs/guides/testing.md"), "python")
    newcomer.writes("tests/test_guide.py", tests)
    return newcomer


@pytest.fixture(scope="module")
def as_written(newcomer: Newcomer) -> Printed:
    """The tests of the app before its owner changed anything that was written for them."""
    return newcomer.tests()


@pytest.fixture(scope="module")
def planted(newcomer: Newcomer, as_written: Printed) -> Printed:
    """The tests of a refund that acts before the app records it, and has no key."""
    newcomer.writes("tools/refund.py", TOOL.format(pays=PLANTED))
    newcomer.writes("tests/test_refund.py", TEST)
    return newcomer.tests("tests/test_refund.py")


@pytest.fixture(scope="module")
def mended(newcomer: Newcomer, planted: Printed) -> Printed:
    """The same with the key of the call."""
    newcomer.writes("tools/refund.py", TOOL.format(pays=MENDED))
    return newcomer.tests("tests/test_refund.py")


def test_the_tests_of_an_added_tool_pass_as_they_were_written(as_written: Printed) -> None:
    """As a function, in its app, and killed after its result."""
    own = [name.partition("::")[2] for name in as_written.outcomes if name.startswith("tests/test_tool_refund.py")]

    assert own == [
        "test_refund_returns_its_result",
        "test_refund_is_called_once",
        "test_refund_is_called_once[killed after the result of 'refund' was recorded]",
    ]
    assert as_written.red == []


def test_the_tests_of_the_guide_pass_in_a_new_app(as_written: Printed) -> None:
    """The first lines of the page, word by word: two tests, and one with its eight kills."""
    assert sum(name.startswith("tests/test_guide.py") for name in as_written.outcomes) == 2 + 1 + 8


@pytest.mark.behaviour("testing.new-app")
def test_a_planted_fault_is_red_at_its_step_and_nowhere_else(planted: Printed) -> None:
    """Between the payment and its record: one of eight kills."""
    assert (planted.returncode, planted.red, len(planted.outcomes)) == (1, [RED], 1 + 8)


def test_a_refund_with_the_key_of_its_call_is_green_at_each_step(mended: Printed) -> None:
    assert (mended.returncode, mended.red, len(mended.outcomes)) == (0, [], 1 + 8), mended.printed
