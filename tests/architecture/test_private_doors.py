"""The private names of packages that the product uses: in one file each, and still there in the installed version.

Each stands where the package has no public way. A package that moves one fails here by that name, and not in a store.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Iterator
from types import FunctionType

import pytest
from agent_framework import AgentExecutor, FileSkillScript, FunctionalWorkflow, StepWrapper, WorkflowExecutor
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables.aio import TableServiceClient
from azure.durable_functions import DurableOrchestrationClient
from azure.durable_functions.models.Task import LongTimerTask
from durabletask.task import CompletableTask, WhenAllTask

from tests.architecture.imports import ROOT
from tests.support.app.scripted import scripted_agent
from tests.support.flows import asking_flow

DOORS = {
    "_orchestration_bindings": "hosting/functions/durable_1/client.py",  # the durable client's own address
    "_add_to_open_tasks": "hosting/functions/durable_1/agent_task.py",  # further tasks, as the SDK's long timer
    "_add_to_actions": "hosting/functions/durable_1/agent_task.py",
    "_set_is_scheduled": "hosting/functions/durable_1/agent_task.py",
    "_parents": "hosting/functions/durable_2/agent_task.py",  # further tasks, as durabletask's own composites have them
    "_func": "hosting/functions/user_routes.py",  # the handler of an indexed function
    "_policies": "hosting/core/stores/storage_account.py",  # of the client of tables
    "_propagate_request": "hosting/core/agent/framework_graphs.py",  # where requests of a workflow within another go
    "_runner_context": "hosting/core/agent/framework_graphs.py",  # the requests of an executor
    "_session": "hosting/core/agent/framework_graphs.py",  # that of an executor's agent
    "_execute": "hosting/features/workflows/function_steps.py",  # where a workflow's function is called
    "_get_cached_result": "hosting/features/workflows/function_steps.py",  # the key of the step that is called
    "_active_step_tasks": "hosting/features/workflows/function_steps.py",  # the steps that a task is in
    "_on_step_completed": "hosting/features/workflows/function_steps.py",  # where its result is saved
    "_wrapper_identity_is_durable": "hosting/features/workflows/functional.py",  # whether a step is known again
    "_replay_key": "hosting/features/workflows/functional.py",
    "_workflow": "hosting/features/workflows/functional.py",  # of an agent that is a function
    "_session_file_path": "hosting/session_data.py",  # of a history in files
    "_get_state_path": "hosting/session_data.py",  # of todos in files
    "_runner": "hosting/skills.py",  # of a script of a skill that is a file
    "_fixtureinfo": "hosting/testing/kill_cases.py",  # pytest's: the fixtures of a test that is run again
    "_current_frames": "hosting/core/agent/agent_loop.py",  # CPython's: where another thread is
}


def private_names(source: str) -> Iterator[str]:
    """Yield the private attributes that a module reads or sets on anything but what it defines itself."""
    nodes = list(ast.walk(ast.parse(source)))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    on_self = [node for node in attributes if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")]
    own |= {node.attr for node in on_self}
    yield from (
        node.attr
        for node in attributes
        if node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in own
    )


@pytest.mark.behaviour("hosting.private-doors")
def test_a_private_name_of_a_package_stands_in_one_file() -> None:
    """A new one is added to the table, with a test that it is there."""
    found = {
        (name, str(path.relative_to(ROOT)))
        for package in ("hosting", "state")
        for path in sorted((ROOT / package).rglob("*.py"))
        for source in [path.read_text(encoding="utf-8")]
        if re.search(r"(?<!\bself)(?<!\bcls)\._[a-z]", source)  # few do, and to parse all takes seconds
        for name in private_names(source)
    }

    assert found == set(DOORS.items())


async def kept(text: str) -> str:
    """Make a step of a workflow that is a function."""
    return text


BINDING = {
    "taskHubName": "hub",
    "creationUrls": {},
    "managementUrls": {"id": "INSTANCE", "statusQueryGetUri": "http://h/runtime"},
    "rpcBaseUrl": "http://h/rpc/",
}
HELD: dict[str, Callable[[], object]] = {
    "_orchestration_bindings.rpc_base_url": lambda: DurableOrchestrationClient(json.dumps(BINDING)),
    "_policies": lambda: TableServiceClient("https://a.example", credential=AzureNamedKeyCredential("a", "a2V5")),
    "_session": lambda: AgentExecutor(scripted_agent("Joker")),
    "_propagate_request": lambda: WorkflowExecutor(asking_flow(), "inner"),
    "_runner": lambda: FileSkillScript(name="run.py", full_path="/run.py", runner=lambda *given: ""),
    "_execute": lambda: FunctionalWorkflow,
    "_wrapper_identity_is_durable": lambda: StepWrapper(kept),
    "_replay_key": lambda: StepWrapper(kept),
    "_parents": CompletableTask[int],
    **dict.fromkeys(
        ["_pending_children", "_exception", "_is_complete", "_notify_parent"],
        lambda: WhenAllTask([CompletableTask[int]()]),
    ),
}
"""What has it, by the name: tasks of ours have those of the last from durabletask's `CompositeTask`."""


@pytest.mark.behaviour("hosting.private-doors")
@pytest.mark.filterwarnings("ignore:.*experimental")
@pytest.mark.parametrize("path", HELD)
async def test_a_private_name_is_there_in_the_installed_version(path: str) -> None:
    operator.attrgetter(path)(HELD[path]())


@pytest.mark.behaviour("hosting.private-doors")
@pytest.mark.parametrize(
    ("function", "names"),
    [
        (LongTimerTask.add_new_child, ["_add_to_open_tasks", "_add_to_actions", "_set_is_scheduled"]),
        (StepWrapper.__call__, ["_active_step_tasks", "_get_cached_result", "executor_invoked", "_on_step_completed"]),
    ],
)
def test_the_package_calls_what_ours_replaces(function: FunctionType, names: list[str]) -> None:
    """In a step, the saved result is asked for before its events, and written after them."""
    called = function.__code__.co_names

    assert set(names) <= set(called)
    assert sorted(names[1:], key=called.index) == names[1:]
