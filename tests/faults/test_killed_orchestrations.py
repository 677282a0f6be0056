"""An orchestration whose host is killed by SIGKILL: the same outcome, and no recorded answer asked for again."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import httpx
import pytest

from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.instances import GUARD_SECONDS, Instances
from tests.support.kept_in import KINDS, kept_in
from tests.support.orchestrations_app import make_page_app
from tests.support.running_host import RunningHost
from tests.support.whole_lines import whole_lines

pytestmark = pytest.mark.slow

# The engine commits the start, each episode of the orchestration and each batch of the entity.
POINTS = [
    *((f"{place}-orchestrator", nth) for place in ("before", "after") for nth in (2, 3)),
    *((f"{place}-entity", nth) for place in ("before", "after") for nth in (1, 2)),
    *((f"{place}-commit", nth) for place in ("before", "inside", "after") for nth in (3, 5)),
]


class KilledApp:
    """The page's app, on hosts that are killed, and what its models were asked in all of them."""

    def __init__(self, folder: Path, stores: dict[str, str]) -> None:
        self._stores = stores
        self._script_log = folder / "asked.txt"
        self._script_log.touch()
        self._app = folder / "app"
        self._app.mkdir()
        make_page_app(self._app)

    def host(self, **environ: str) -> RunningHost:
        """Return a host, which is killed at the end of its block."""
        return RunningHost(self._app, environ={"SCRIPT_LOG": str(self._script_log), **self._stores, **environ})

    def model_calls(self) -> list[str]:
        """Return what the models were asked, in order."""
        return [line.partition(" ")[2] for line in whole_lines(self._script_log)]

    async def until_model_called(self) -> None:
        """Return once a model was asked."""
        while not self.model_calls():  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)


@pytest.mark.behaviour("orchestrations.once")
@pytest.mark.parametrize(
    ("point", "nth", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"]
)
async def test_a_kill_at_a_point_of_the_engine_asks_each_agent_once(
    tmp_path: Path, stores: dict[str, str], point: str, nth: int
) -> None:
    """Killed at the n-th passing and started again: two runs, each asked for once."""
    app = KilledApp(tmp_path, stores)
    with app.host(DEVHOST_CRASH_AT=f"{point}:{nth}") as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await Instances(http).start("draft_and_shorten", "one", "killed")
            assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            status, output = await Instances(http).ended("killed")

    assert (status, output["text"]) == ("Completed", "echo: Shorten this: echo: one")
    assert app.model_calls() == ["one", "Shorten this: echo: one"]


CHARGING = """
@app.orchestration_trigger(context_name="context")
def charge_twice(context):
    clerk = app.get_agent(context, "Clerk")
    session = clerk.create_session()
    for charge in ("one", "two"):
        yield clerk.run(f"call look {context.get_input()}-{charge}", session=session)
    return session.session_id


@app.orchestration_trigger(context_name="context")
def charge_anew(context):
    name, is_continued = context.get_input()
    if not is_continued:
        context.continue_as_new([name, True])
        return
    return (yield context.call_sub_orchestrator("charge_twice", name))
"""
"""The clerk's tool `look` is not idempotent: the outside counts what it did."""


@pytest.mark.behaviour("orchestrations.repeated-episode")
@pytest.mark.parametrize(
    ("name", "given", "struck", "stores"),
    kept_in(
        *KINDS,
        first=("charge_twice", "a", "charge_twice 1"),
        rest=[
            ("charge_twice", "a", "charge_twice 2"),
            *(("charge_anew", ["a", False], f"charge_anew {nth}") for nth in (1, 2)),
            *(("charge_anew", ["a", False], f"charge_twice {nth}") for nth in (1, 2, 3)),
        ],
    ),
    indirect=["stores"],
)
async def test_a_host_killed_between_an_episodes_messages_and_its_history_charges_once(
    tmp_path: Path, stores: dict[str, str], name: str, given: object, struck: str
) -> None:
    """The next host is given the same episode, at another time, and what was sent: each tool call is made once."""
    app = ClerksApp(tmp_path, stores, SOURCE + CHARGING)
    dying = {"DEVHOST_UNKIND": f"sent-not-committed {struck}", "DEVHOST_CRASH_AT": "after-sending"}
    with app.host(**dying) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await Instances(http).start(name, given, "killed")
            assert await until_dead(host) == -9

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            status, thread = await Instances(http).ended("killed")
            kept = (await http.get(f"/api/agents/Clerk/threads/{thread}/messages")).json()
            threads = (await http.get("/api/agents/Clerk/threads")).json()["threads"]

    assert status == "Completed"
    assert sorted(app.said()) == ["look a-one", "look a-two"]
    assert [one["thread_id"] for one in threads] == [thread]
    assert [entry["type"] for entry in kept["entries"]] == ["request", "response"] * 2


@pytest.mark.behaviour("orchestrations.once")
async def test_an_agent_cut_off_in_the_middle_ends_as_the_same_run(tmp_path: Path, stores: dict[str, str]) -> None:
    """Its model is asked again, for nothing was recorded; the conversation has each run once."""
    app = KilledApp(tmp_path, stores)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            await Instances(http).start("draft_and_shorten", "sleep 0.4", "cut")
            await asyncio.wait_for(app.until_model_called(), GUARD_SECONDS)

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            status, output = await Instances(http).ended("cut")
            thread = await http.get(f"/api/agents/writer/threads/{output['session_id']}/messages")

    assert (status, output["text"]) == ("Completed", "echo: Shorten this: echo: sleep 0.4")
    assert app.model_calls() == ["sleep 0.4", "sleep 0.4", "Shorten this: echo: sleep 0.4"]
    assert [entry["type"] for entry in thread.json()["entries"]] == ["request", "response"] * 2


@pytest.mark.behaviour("retry.survives-crashes")
async def test_a_host_killed_in_the_pause_before_a_retry_has_one_attempt_left(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """Of two: the failure is in the run's log, and the pause is not waited out again."""
    app = KilledApp(tmp_path, stores)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            await Instances(http).start("fail_twice", "t", "retried")
            await asyncio.wait_for(until_claimed_again(http), GUARD_SECONDS)

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            status, output = await Instances(http).ended("retried")

    assert (status, output) == ("Completed", "run_failed")
    assert app.model_calls() == ["fail", "fail"]


async def until_claimed_again(http: httpx.AsyncClient) -> None:
    """Return once the run's second attempt is in its log: its first has failed, and it pauses."""
    while True:
        kept = await http.get("/api/agents/writer/threads/t/export")
        if kept.status_code == 200 and kept.json()["runs"][0]["attempts"] == 2:
            return
        await asyncio.sleep(0.01)
