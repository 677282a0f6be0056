"""What a model takes besides text, and who says so."""

from types import SimpleNamespace
from typing import Any

import pytest

from hosting.app import AgentFunctionApp
from hosting.core.request.contents import limits_of, model_inputs, read_contents
from hosting.errors import ConfigurationError, UnsupportedContentError
from hosting.offline.model import OfflineChatClient
from hosting.settings import read_settings
from tests.support.bench import CountingAgent

PDF = {"$type": "data", "uri": "data:application/pdf;base64,aGk="}
FILE = {"$type": "hostedFile", "fileId": "f-1"}


@pytest.mark.behaviour("http.model-inputs")
@pytest.mark.parametrize(
    ("agent", "setting", "names"),
    [
        (SimpleNamespace(), "image/*, audio/wav", ("image/*", "audio/wav")),
        (SimpleNamespace(client=SimpleNamespace(MODEL_INPUTS=("text",))), "image/*", ("text",)),
        (SimpleNamespace(client=SimpleNamespace(MODEL_INPUTS=())), "image/*", ()),
        (SimpleNamespace(MODEL_INPUTS=("hostedFile",), client=OfflineChatClient()), "image/*", ("hostedFile",)),
        (SimpleNamespace(client=OfflineChatClient()), "image/*", ("text",)),
    ],
)
def test_the_agent_goes_before_its_client_before_the_setting(agent: Any, setting: str, names: Any) -> None:
    """Whoever knows best; the offline model takes text only."""
    assert model_inputs(agent, setting).names == names


@pytest.mark.behaviour("http.model-inputs")
@pytest.mark.parametrize(
    ("setting", "content"),
    [("application/pdf", PDF), ("application/*", PDF), ("*/*", PDF), ("image/*,hostedFile", FILE)],
)
def test_what_is_declared_is_taken(setting: str, content: dict[str, str]) -> None:
    limits = limits_of(None, read_settings({"AGENT_MODEL_INPUTS": setting}))

    assert [item["$type"] for item in read_contents([content], limits)] == [content["$type"]]


@pytest.mark.behaviour("http.model-inputs")
@pytest.mark.parametrize(("setting", "content"), [("text", PDF), ("image/*", PDF), ("*/*", FILE), ("text", FILE)])
def test_what_is_not_declared_is_refused_before_the_run(setting: str, content: dict[str, str]) -> None:
    """A client that cannot take it might drop it silently."""
    limits = limits_of(None, read_settings({"AGENT_MODEL_INPUTS": setting}))

    with pytest.raises(UnsupportedContentError) as refused:
        read_contents([content], limits)

    assert "the model of this agent takes text" in refused.value.detail


@pytest.mark.parametrize(("names", "wrong"), [("image/*", "image/*"), (["image/*", "pictures"], "pictures")])
def test_a_declaration_that_is_none_is_refused_at_start_up(names: Any, wrong: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        AgentFunctionApp(agents=[agent_with(names)], environ={"AGENT_LOG": "memory"})

    assert refused.value.detail.startswith(f"MODEL_INPUTS of CountingAgent has {wrong!r}. List media types such as")


def agent_with(names: Any) -> CountingAgent:
    """Return an agent that declares these inputs."""
    agent = CountingAgent()
    agent.MODEL_INPUTS = names  # type: ignore[attr-defined]
    return agent
