"""LangChain's client of OpenAI's protocols, over a socket to a real host.

Its packages are in a folder of their own, for a process of its own: no other test asks for them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.client_tables import table_of
from tests.support.python_packages import installed, printed_with
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("chat.langchain")]

HERE = Path(__file__).parent / "langchain"
LANGCHAIN = (
    *("langchain-openai==1.7.4", "langchain-core==1.8.3", "langchain-protocol==0.0.20", "langsmith==0.15.1"),
    *(
        "distro==1.9.0",
        "jsonpatch==1.48",
        "jsonpointer==3.12",
        "orjson==3.13.0",
        "requests-toolbelt==1.0.0",
        "tiktoken==0.14.0",
    ),
    *("regex==2026.11.19", "uuid-utils==0.19.0", "xxhash==4.1.0", "zstandard==0.25.0"),
)
TAKES_FILES = {"AGENT_MODEL_INPUTS": "image/*, application/pdf"}
ON_EACH: dict[str, Any] = {
    "talks.turns": ["echo: my name is Ada", "my name is Ada | recall"],
    "talks.tokens": [7, 7],
    "talks.streamed": "one two",
    "runs_tools.told": ["told: at 1 | saw 2 | at 3", "echo: thanks"],
    "runs_tools.streamed": [["where", {"n": "4"}]],
    "runs_tools.named": [["when", {"n": "5"}]],
    "runs_tools.any": {"tool_choice": "required"},
    "runs_tools.failed": "told: it broke",
    "formats.function_calling": "6",
    "formats.json_schema": "9",
    "formats.json_mode": "10",
    "sends.picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
    "sends.file": "user text:see data:a.pdf:data:application/pdf;base64,JVBERi0=",
}
NEVER = [[404, "unknown_agent"], [400, "unsupported_parameter"]]
OPTIONS = {"max_tokens": 5, "reasoning_effort": "low", "temperature": 0.5, "top_p": 0.5, "verbosity": "low"}
ON_ONE: dict[str, dict[str, Any]] = {
    "chat-completions": {
        "sends.options": {**OPTIONS, "frequency_penalty": 0.5, "presence_penalty": 0.5, "seed": 3},
        "sends.ignored": "service_tier, store, top_p",
        # For a built-in tool LangChain goes to the other protocol, which this address does not have.
        "meets_errors.errors": [*NEVER, [404, "unknown_url"], [500, "run_failed"]],
    },
    "responses": {
        "sends.options": OPTIONS,
        "sends.ignored": "service_tier, top_p",
        "meets_errors.errors": [
            *NEVER,
            [400, "invalid_field"],
            ["ValueError", "ResponseError(code='server_error', messa"],
        ],
        "continues.continued": "my name is Bob | recall",
        "continues.blocks": ["text"],
    },
}


@pytest.mark.parametrize("wire", ON_ONE)
async def test_langchains_client_does_all_that_the_wire_serves(
    pytestconfig: pytest.Config, tmp_path: Path, wire: str
) -> None:
    """Talks, streams, runs its tools, chooses among them, makes structured output, and gets errors."""
    packages = installed(Path(pytestconfig.cache.mkdir("langchain")), *LANGCHAIN)
    with RunningHost(shutil.copytree(HERE / "app", tmp_path / "app"), environ=TAKES_FILES) as host:
        got = await printed_with(packages, HERE / "client.py", host.origin, wire)

    fields = got.pop("fields")
    assert len(fields) > 40
    assert table_of(f"clients-{wire}.md", "ChatOpenAI of LangChain").unnamed(fields) == []
    assert got == {**ON_EACH, **ON_ONE[wire]}
