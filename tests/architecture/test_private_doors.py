"""The private names of packages that the product uses: in one file each, and still there in the installed version.

Each stands where the package has no public way. A package that moves one fails here by that name, and not in a store.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest
from agent_framework import (
    Agent,
    AgentExecutor,
    AgentSession,
    FileSkillScript,
    FunctionalWorkflow,
    InlineSkill,
    SessionContext,
    SkillFrontmatter,
    SkillsProvider,
    StepWrapper,
    WorkflowExecutor,
)
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.pipeline.policies import RequestIdPolicy
from azure.data.tables.aio import TableServiceClient
from azure.durable_functions import DFApp, DurableOrchestrationClient
from azure.durable_functions.models.Task import LongTimerTask
from azure.durable_functions.models.utils import http_utils
from durabletask.task import CompletableTask, CompositeTask, WhenAllTask

from hosting.core.agent.framework import agent_of_tool
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
_IMPORTED = "_initializing"
"""Of a module's spec: True while it is imported. hosting/start_up.py has it set, which no name in its code shows."""
INHERITED = {"_exception", "_is_complete", "_notify_parent", "_result"}
"""What a task of ours has from durabletask's `CompositeTask` (hosting/task_hub.py)."""


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
        for name in private_names(path.read_text(encoding="utf-8"))
    }

    assert found == set(DOORS.items())


def test_a_private_name_is_found_and_an_own_one_is_none() -> None:
    """The reading itself."""
    source = "class A:\n    def m(self, other, sdk):\n        self._a = other._a\n        return sdk._b.c, self._n()\n"

    assert list(private_names(source)) == ["_b"]


@pytest.mark.behaviour("hosting.private-doors")
@pytest.mark.parametrize("last", ["", "raise LookupError"])
def test_the_spec_of_a_module_says_that_it_is_imported_however_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """CPython: `ModuleSpec._initializing`, by an attribute that is set in Python."""
    kept = "import sys\nspec = sys.modules[__name__].__spec__\nsys.kept = (spec, spec._initializing)\n"
    (tmp_path / "imported_for_its_spec.py").write_text(kept + last, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "kept", None, raising=False)

    with pytest.raises(LookupError) if last else nullcontext():
        importlib.import_module("imported_for_its_spec")

    spec, was = vars(sys)["kept"]
    assert (type(spec), was, getattr(spec, _IMPORTED)) == (ModuleSpec, True, False)
    sys.modules.pop("imported_for_its_spec", None)


@pytest.mark.behaviour("hosting.private-doors")
@pytest.mark.parametrize("value", [1])
def test_a_test_has_its_fixtures_where_we_read_them(request: pytest.FixtureRequest, value: int) -> None:
    """pytest: `Function._fixtureinfo`, which a function of the same parameters takes."""
    node = request.node
    again = pytest.Function.from_parent(
        node.parent, name="again", callobj=node.obj, callspec=node.callspec, fixtureinfo=node._fixtureinfo
    )

    assert again.fixturenames == node.fixturenames
    assert {"request", "value"} <= set(again.fixturenames)


@pytest.mark.behaviour("hosting.private-doors")
def test_the_durable_client_has_its_address_where_we_read_it() -> None:
    """azure-functions-durable: `_orchestration_bindings.rpc_base_url`."""
    urls = {"id": "INSTANCE", "statusQueryGetUri": "http://h/runtime"}
    given = {"taskHubName": "hub", "creationUrls": {}, "managementUrls": urls, "rpcBaseUrl": "http://h/rpc/"}

    client: Any = DurableOrchestrationClient(json.dumps(given))

    assert client._orchestration_bindings.rpc_base_url == "http://h/rpc/"


@pytest.mark.behaviour("hosting.private-doors")
def test_an_indexed_function_has_its_handler_where_we_set_it() -> None:
    """azure-functions: `_func`."""
    app = func.FunctionApp()

    @app.route(route="own")
    def own(req: func.HttpRequest) -> str:
        return ""

    function: Any = app.get_functions()[0]

    assert function._func is function.get_user_function()


@pytest.mark.behaviour("hosting.private-doors")
def test_an_orchestrators_handle_has_its_function_and_input_type_where_we_read_them() -> None:
    """azure-functions-durable: `orchestrator_function` and `_df_input_type`."""
    app = DFApp()

    @app.orchestration_trigger(context_name="context", input_type=int)
    def own(context: object) -> None:
        """Do nothing."""

    handle: Any = app.get_functions()[0].get_user_function()

    assert handle.orchestrator_function.__name__ == "own"
    assert handle._df_input_type is int


@pytest.mark.behaviour("hosting.private-doors")
async def test_the_client_of_tables_has_its_policies_where_we_read_them() -> None:
    """azure-data-tables: `_policies`."""
    credential = AzureNamedKeyCredential("a", "a2V5")
    service: Any = TableServiceClient("https://a.table.core.windows.net", credential=credential)
    async with service:
        assert any(isinstance(policy, RequestIdPolicy) for policy in service._policies)


@pytest.mark.behaviour("hosting.private-doors")
def test_an_agents_executor_has_its_session_where_we_set_it() -> None:
    """agent-framework: `_session`."""
    session = AgentSession(session_id="given")
    made: Any = AgentExecutor(scripted_agent("Joker"), session=session)

    assert made._session is session


@pytest.mark.behaviour("hosting.private-doors")
def test_a_workflow_within_another_knows_whether_its_requests_go_further() -> None:
    """agent-framework: `_propagate_request`; `_runner_context` is in features/workflows/test_given_graphs.py."""
    given: Any = WorkflowExecutor(asking_flow(), "inner", propagate_request=True)

    assert given._propagate_request


@pytest.mark.behaviour("hosting.private-doors")
def test_a_step_is_known_again_by_its_key_or_by_its_code() -> None:
    """agent-framework: `_replay_key` and `_wrapper_identity_is_durable`."""
    changing: list[str] = []

    async def kept(text: str) -> str:
        return text

    async def moved(text: str) -> str:
        return text + "".join(changing)

    made: list[Any] = [StepWrapper(kept), StepWrapper(moved), StepWrapper(moved, replay_key=str)]
    doors = [(step._wrapper_identity_is_durable, step._replay_key) for step in made]

    assert doors == [(True, None), (False, None), (False, str)]


@pytest.mark.behaviour("hosting.private-doors")
def test_a_functional_workflow_has_what_the_recording_of_its_steps_replaces() -> None:
    """agent-framework: `_execute`, and in a step `_get_cached_result` before its events, `_on_step_completed` after.

    `_active_step_tasks` is changed around all of it.
    """
    call = StepWrapper.__call__.__code__.co_names

    assert callable(FunctionalWorkflow._execute)
    assert "_active_step_tasks" in call
    assert call.index("_get_cached_result") < call.index("executor_invoked") < call.index("_on_step_completed")


@pytest.mark.behaviour("hosting.private-doors")
def test_the_sdks_own_task_adds_tasks_to_itself_as_ours_does() -> None:
    """azure-functions-durable: `LongTimerTask.add_new_child`, which is where it is read from."""
    names = {name for name, file in DOORS.items() if file == "hosting/functions/durable_1/agent_task.py"}

    assert names <= set(LongTimerTask.add_new_child.__code__.co_names)


@pytest.mark.behaviour("hosting.private-doors")
def test_a_composite_task_has_what_ours_sets() -> None:
    """durabletask: the members of `CompositeTask`."""
    tree = ast.parse((ROOT / "hosting" / "task_hub.py").read_text(encoding="utf-8"))
    (ours,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "AgentTask"]
    used = {node.attr for node in ast.walk(ours) if isinstance(node, ast.Attribute) and node.attr.startswith("_")}
    named = {name for kind in CompositeTask.__mro__ for name in (*vars(kind), *getattr(kind, "__annotations__", ()))}
    theirs = named | vars(WhenAllTask([])).keys()

    assert used - {"__init__", "_call"} == INHERITED
    assert theirs >= INHERITED


@pytest.mark.behaviour("hosting.private-doors")
def test_a_composite_task_and_its_children_know_each_other_as_ours_sets_it() -> None:
    """durabletask: `_pending_children` and `_parents`."""
    child = CompletableTask[int]()
    both: Any = WhenAllTask([child])

    assert both._pending_children == {id(child): (child, 1)}
    assert child._parents == {id(both): both}


@pytest.mark.behaviour("hosting.private-doors")
def test_the_function_of_an_agent_as_tool_holds_the_agent() -> None:
    """agent-framework: a closure (hosting/core/agent/framework.py)."""
    agent: Any = Agent(scripted_agent("Inner").client, name="Inner")

    assert agent_of_tool(agent.as_tool()) is agent


@pytest.mark.behaviour("engine.own-client")
async def test_the_durable_client_sends_through_one_session_of_its_module() -> None:
    """azure-functions-durable: `http_utils._get_session`, which the local host takes the place of."""
    sent = []

    class Recorder:
        def post(self, url: str, **options: Any) -> Any:
            sent.append(url)
            raise LookupError

    async def recorder() -> Recorder:
        return Recorder()

    theirs, http_utils._get_session = http_utils._get_session, recorder
    try:
        with pytest.raises(LookupError):
            await http_utils.post_async_request("http://h/rpc/", {})
    finally:
        http_utils._get_session = theirs

    assert sent == ["http://h/rpc/"]


@pytest.mark.behaviour("hosting.private-doors")
@pytest.mark.filterwarnings("ignore:.*experimental")
async def test_a_script_that_is_a_file_has_its_runner_where_we_read_it() -> None:
    """agent-framework: `_runner`, and the closure of the tool that runs it (hosting/skills.py)."""
    runner: Any = print
    script: Any = FileSkillScript(name="run.py", full_path="/run.py", runner=runner)
    provider = SkillsProvider(InlineSkill(frontmatter=SkillFrontmatter(name="a", description="A."), instructions="B."))
    context = SessionContext(session_id="s", input_messages=[])
    await provider.before_run(agent=scripted_agent("A"), session=AgentSession(), context=context, state={})
    held = inspect.getclosurevars(
        next(tool.func for tool in context.tools if tool.name == "run_skill_script")
    ).nonlocals

    assert script._runner is runner
    assert (held["self"], [skill.frontmatter.name for skill in held["skills"]]) == (provider, ["a"])
