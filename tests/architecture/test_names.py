"""A name has one meaning: no two classes or functions of the house are called the same."""

import re
from collections import defaultdict

import pytest

from tests.architecture.imports import ROOT, module_name

DEFINED = re.compile(r"^(?:class|(?:async )?def) ([A-Za-z]\w*)", re.MULTILINE)
ONE_MEANING = {
    "AgentTask": "the task of a run, for each durable SDK",
    "DurableClient": "the client of an invocation, for each version of the Functions SDK",
    "naming": "what gives an orchestrator's executions their names, for each version",
    "is_over": "whether a task of an orchestration has ended, for each version",
    "result_of": "how it has ended, for each version",
    "of_texts": "what translates an entity's batches, for each version",
    "CallingOrchestration": "a running orchestration, for each durable SDK",
    "Usage": "a model's token counts, as they are stored and as callers see them",
    "decode": "reads one stored form, which the module is named for",
    "encode": "writes one stored form, which the module is named for",
    "main": "a command",
    "read_head": "reads a thread's head, for each store",
}
"""What is called the same on purpose, and what all of that name do."""


def definitions() -> dict[str, list[str]]:
    """Return the modules of `hosting/` and `state/` that define each public class or function."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for package in ("hosting", "state") for path in (ROOT / package).rglob("*.py")):
        for name in DEFINED.findall(path.read_text(encoding="utf-8")):
            found[name].append(module_name(path))
    return found


@pytest.mark.behaviour("hosting.one-name")
def test_a_class_or_a_function_has_its_name_alone() -> None:
    """But for what has one meaning and stands once for each SDK, store or stored form."""
    twice = {name: modules for name, modules in definitions().items() if len(modules) > 1}

    assert {name: modules for name, modules in twice.items() if name not in ONE_MEANING} == {}
    assert ONE_MEANING.keys() <= twice.keys()
