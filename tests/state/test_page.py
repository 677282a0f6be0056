"""docs/reference/state.md: what it shows runs, and its tables are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from state.__main__ import main
from state.errors import UnreadableDocumentError
from state.json_values import MAX_DEPTH, PYTHON_KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "state.md").read_text("utf-8")


def block(language: str) -> str:
    [found] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.mark.slow
@pytest.mark.behaviour("state.page")
def test_the_five_lines_print_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "thread.json").write_text(block("json"), "utf-8")
    (tmp_path / "lines.py").write_text(block("python"), "utf-8")
    printed = subprocess.run(
        [sys.executable, "-I", "lines.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )

    assert printed.stdout == block("text")


@pytest.mark.behaviour("state.page")
def test_the_reader_tells_what_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "thread.json"
    file.write_bytes(block("json").encode())
    command, received = block("console").split("\n", 1)

    assert command.startswith("$ python dev.py exec ")
    assert command.endswith(" thread.json")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == received


@pytest.mark.behaviour("state.page")
def test_the_page_lists_every_code_and_kind() -> None:
    codes = re.findall(r"^\| `(\w+)` \|", PAGE.split("| code |")[1], re.MULTILINE)

    assert codes == [error.code for error in UnreadableDocumentError.__subclasses__()]
    assert [kind for kind in sorted(PYTHON_KINDS) if f"`{kind}`" not in PAGE and f'"{kind}"' not in PAGE] == []
    assert f"deeper than {MAX_DEPTH} levels" in PAGE
