"""The imports of an app of Microsoft's package, as `new --from-upstream` writes them."""

import pytest

from packages.durable_agent_host.from_upstream import rewritten

LONG = "AgentCallbackContext, AgentFunctionApp, AgentResponseCallbackProtocol, WorkflowHitlContext"

pytestmark = pytest.mark.behaviour("packages.from-upstream")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"from agent_framework_azurefunctions import {LONG}\n", f"from durable_agent_host import {LONG}\n"),
        (
            "from agent_framework.azure import (\n    AgentFunctionApp,  # ours\n)\n",
            "from durable_agent_host import (\n    AgentFunctionApp,  # ours\n)\n",
        ),
        (
            "from agent_framework.azure import (AgentFunctionApp as App,\n    WorkflowHitlContext)\n",
            "from durable_agent_host import (AgentFunctionApp as App,\n    WorkflowHitlContext)\n",
        ),
        (
            f"if True:\n    from agent_framework_azurefunctions import DurableAIAgent, {LONG}\n",
            "if True:\n    from agent_framework_azurefunctions import DurableAIAgent\n"
            f"    from durable_agent_host import {LONG}\n",
        ),
        (
            "from agent_framework_azurefunctions import (\n    AgentFunctionApp,\n    DurableAIAgent,  # theirs\n"
            "    WorkflowHitlContext,\n)\n",
            "# theirs\nfrom agent_framework_azurefunctions import DurableAIAgent\n"
            "from durable_agent_host import (\n    AgentFunctionApp,\n    WorkflowHitlContext,\n)\n",
        ),
        (
            "from agent_framework_azurefunctions import (\n    AgentFunctionApp, DurableAIAgent, "
            "WorkflowHitlContext\n)\n",
            "from agent_framework_azurefunctions import DurableAIAgent\n"
            "from durable_agent_host import AgentFunctionApp, WorkflowHitlContext\n",
        ),
    ],
    ids=["one-line", "spread", "by-hand", "mixed-one-line", "mixed-spread", "mixed-by-hand"],
)
def test_an_import_keeps_its_form(source: str, expected: str) -> None:
    """On one line where it was, over lines where it was: a formatter finds nothing to do."""
    assert rewritten(source.encode(), "app.py")[0].decode() == expected
