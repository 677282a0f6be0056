"""A deployment without an agent that has threads and a run under way, and one with it again."""

import shutil
from pathlib import Path

import httpx
import pytest

from tests.devhost.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "azure" / "app" / "function_app.py"
WITHOUT = "\nagents.pop()\n"
RUN, THREAD = "/api/agents/timed/run", "/api/agents/timed/threads/kept"


def deploy(folder: Path, with_agent: bool) -> None:
    """Put the app's next version into the folder; the agent `timed` is the last of the list."""
    version = APP.read_text(encoding="utf-8")
    lines = version if with_agent else version.replace("\n\napp = ", f"{WITHOUT}\napp = ")
    (folder / "function_app.py").write_text(lines, encoding="utf-8")


def say(client: httpx.Client, message: str, wait: bool = True) -> httpx.Response:
    return client.post(RUN, json={"message": message, "thread_id": "kept", "wait_for_response": wait})


@pytest.mark.slow
@pytest.mark.behaviour("template.removed-agent")
def test_what_an_agent_left_behind_is_refused_by_name_and_goes_on_when_the_agent_is_back(tmp_path: Path) -> None:
    """The run in flight was killed with its host, and is done once; nothing of the conversation is lost."""
    shutil.copy(ROOT / "host.json", tmp_path)
    deploy(tmp_path, with_agent=True)
    with RunningHost(tmp_path) as host, httpx.Client(base_url=host.origin, timeout=20) as client:
        say(client, "first")
        place = say(client, "wait 0.5", wait=False).headers["location"].removeprefix(host.origin)

    deploy(tmp_path, with_agent=False)
    with RunningHost(tmp_path) as host, httpx.Client(base_url=host.origin, timeout=20) as client:
        refused = [client.get(place), client.get(THREAD), say(client, "hello?")]

    deploy(tmp_path, with_agent=True)
    with RunningHost(tmp_path) as host, httpx.Client(base_url=host.origin, timeout=20) as client:
        recalled = say(client, "recall").json()["response"]
        done = client.get(place)

    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(404, "unknown_agent")] * 3
    assert recalled == '["first", "wait 0.5", "recall"]'
    assert (done.status_code, done.json()["response"]) == (200, "Heard: wait 0.5")
