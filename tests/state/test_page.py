"""docs/reference/state.md: what it shows runs, and its tables are complete."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from state.__main__ import main
from state.codec import read, write
from state.errors import UnreadableDocumentError
from state.json_values import MAX_DEPTH, PYTHON_KINDS
from tests.support.state_documents import OWN_SCHEMA, PUBLIC_SCHEMA, a_request, a_response, conversation_of

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "state.md").read_text("utf-8")


def block(language: str) -> str:
    [found] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.mark.behaviour("state.page")
def test_the_document_of_the_page_is_one_that_we_write() -> None:
    """Valid, and read and written back as it stands."""
    value = json.loads(block("json"))

    Draft202012Validator(PUBLIC_SCHEMA).validate(value)
    Draft202012Validator(OWN_SCHEMA).validate(value)
    assert json.loads(write(read(block("json")))) == value


@pytest.mark.slow
@pytest.mark.behaviour("state.page")
def test_the_five_lines_print_what_the_page_says(tmp_path: Path) -> None:
    """With the standard library alone."""
    (tmp_path / "thread.json").write_text(block("json"), "utf-8")
    (tmp_path / "lines.py").write_text(block("python"), "utf-8")
    printed = subprocess.run(
        [sys.executable, "-I", "lines.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )

    assert printed.stdout == block("text")


@pytest.mark.behaviour("state.page")
def test_the_reader_tells_what_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line of the page, in this process."""
    file = tmp_path / "thread.json"
    file.write_bytes(block("json").encode())
    command, received = block("console").split("\n", 1)

    assert command.startswith("$ python dev.py exec ")
    assert command.endswith(" thread.json")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == received


@pytest.mark.behaviour("state.page")
def test_the_page_lists_every_code_and_kind() -> None:
    """And the depth at which a document is refused."""
    codes = re.findall(r"^\| `(\w+)` \|", PAGE.split("| code |")[1], re.MULTILINE)

    assert codes == [error.code for error in UnreadableDocumentError.__subclasses__()]
    assert [kind for kind in sorted(PYTHON_KINDS) if f"`{kind}`" not in PAGE and f'"{kind}"' not in PAGE] == []
    assert f"deeper than {MAX_DEPTH} levels" in PAGE


@pytest.mark.behaviour("state.page")
def test_the_page_names_what_the_python_package_drops_and_it_does() -> None:
    """Each of the properties that it names, and nothing under the extension data."""
    theirs: Any = pytest.importorskip("agent_framework_durabletask._durable_agent_state")
    [sentence] = re.findall(r"With its first turn it drops\s(`.*?)\.\s", PAGE, re.DOTALL)
    version = importlib.metadata.version("agent-framework-durabletask")
    ours = json.loads(write(conversation_of((a_request("r1"), a_response("r1", "hi")))))
    [request, answer], data = ours["data"]["conversationHistory"], ours["data"]
    content, message = answer["messages"][0]["contents"][0], answer["messages"][0]
    for value in (content, message, answer, request):
        value.update(dict.fromkeys(("agentFramework", "argumentsKind", "attachment", "status"), "added"))
    data["expirationTimeUtc"] = "2026-02-01T00:00:00Z"
    data["extensionData"] |= {"agentSession": {"kept": 1}}

    back = theirs.DurableAgentState.from_json(json.dumps(ours)).to_dict()

    named = set(re.findall(r"`(\w+)`", sentence))
    assert f"({version})" in PAGE
    assert named == names_of(ours) - names_of(back)
    assert back["data"]["extensionData"] == data["extensionData"]


def names_of(value: Any) -> set[str]:
    """Return every name of an object in the value."""
    if isinstance(value, list):
        return set().union(*map(names_of, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(names_of, value.values()))
