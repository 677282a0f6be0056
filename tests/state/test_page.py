"""docs/reference/state.md, and `python -m state` for someone with a document in hand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from state.__main__ import main
from state.errors import UnreadableDocumentError
from state.json_values import MAX_DEPTH, PYTHON_KINDS
from tests.support.state_documents import GOLDEN

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


TOLD = """\
readable
schemaVersion 1.1.0, 1,741 bytes, generation 0
4 entries: 1 requests, 1 responses, 2 unknown
2 messages; runs without an answer: 0
unknown, kept: root
unknown, kept: data: retention
unknown, kept: entry 0: $type 'summary'
unknown, kept: entry 1: $type None
unknown, kept: entry 2: priority
unknown, kept: entry 2 message 0: mood
unknown, kept: entry 2 message 0 content 0: lang
unknown, kept: entry 2 message 0 content 1: $type 'hologram'
unknown, kept: entry 2 message 0 content 3: $type None
unknown, kept: entry 3 usage: reasoningTokenCount

r1 user: hello
r1 user: (hologram)
r1 user: (unknown)
r1 user: (None)
r1 assistant: hi
"""


@pytest.mark.behaviour("state.tells")
def test_a_readable_document_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version, counts, what is unknown in it, what was said."""
    file = tmp_path / "document.json"
    file.write_bytes(
        (GOLDEN / "1.1.0-unknown-everywhere.json").read_text("utf-8").encode()
    )  # checkouts may hold \\r\\n

    assert main([str(file)]) == 0
    assert capsys.readouterr().out == TOLD


@pytest.mark.behaviour("state.tells")
def test_an_unreadable_document_is_refused_with_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(GOLDEN / "2.0.0-refused.json")]) == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("not readable (unsupported_version): schemaVersion 2.0.0 cannot be read")


@pytest.mark.behaviour("state.tells")
@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_status_2(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "document.json"
    if content is not None:
        file.write_bytes(content)

    assert main([str(file)]) == 2
    assert str(file) in capsys.readouterr().err
