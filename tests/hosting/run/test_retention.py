"""Run logs by their age: removed by a timer where a setting says so; conversations and receipts stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting.app import AgentFunctionApp
from hosting.run.retention import Retention
from hosting.runlog.log import RunLog
from tests.support.bench import NOW, Bench, MovingClock
from tests.support.desk import Desk
from tests.support.made_app import timers

DAY_SECONDS = 86_400.0


@pytest.mark.behaviour("streams.retention")
async def test_logs_are_kept_for_their_days_and_conversations_go_on() -> None:
    """By the time of the request; the thread's next turn finds all that was said."""
    bench = Bench()
    run_id = await bench.run("hello")
    clock = MovingClock()
    retention = Retention(RunLog(bench.store), 2, clock)

    clock.now = NOW + 2 * DAY_SECONDS
    kept = await retention.run()
    clock.now += 1
    removed = await retention.run()
    await bench.signal(run_id)
    await bench.run("again")
    bench.loop.close()

    assert (kept, removed) == (0, 1)
    assert bench.agent.seen == [["hello"], ["hello", "echo: hello", "again"]]


@pytest.mark.behaviour("streams.retention")
async def test_a_removed_run_is_answered_410_and_its_key_begins_no_other() -> None:
    """Whoever asks for it learns that it was."""
    desk = Desk()
    async with desk.http:
        headers = {"idempotency-key": "once"}
        body = {"message": "hi", "thread_id": "t"}
        first = await desk.http.post("/api/agents/Clerk/run", json=body, headers=headers)
        await Retention(desk.app._stores.log, 0, lambda: 1e12).run()

        status = await desk.http.get(f"/api/agents/Clerk/threads/t/runs/{first.json()['run_id']}")
        again = await desk.http.post("/api/agents/Clerk/run", json=body, headers=headers)

    assert [answer.status_code for answer in (first, status, again)] == [200, 410, 410]


@pytest.mark.behaviour("streams.retention")
async def test_a_thread_that_waited_for_approvals_goes_on_when_their_run_is_removed() -> None:
    """The call is not made, and the next message is answered."""
    desk = Desk()
    async with desk.http:
        await desk.asked("call refund 5")
        await Retention(desk.app._stores.log, 0, lambda: 1e12).run()

        answer = await desk.say("hello again")

    assert (answer.status_code, answer.json()["response"], desk.notes) == (200, "echo: hello again", [])


def test_the_timer_is_there_only_where_the_setting_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An app without it has one function less."""
    monkeypatch.chdir(tmp_path)
    environ = {"AGENT_RUN_LOG": "memory"}

    assert timers(AgentFunctionApp(environ=environ)) == {}
    assert timers(AgentFunctionApp(environ={**environ, "AGENT_RUN_LOG_DAYS": "30"})) == {
        "runs_retention": "0 7 * * * *"
    }
