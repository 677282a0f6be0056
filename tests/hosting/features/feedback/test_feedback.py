"""Feedback over HTTP: given, replaced, taken back, seen, counted, told, and erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from agent_framework.observability import OBSERVABILITY_SETTINGS
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from hosting.features.feedback.feature import FeedbackFeature
from hosting.functions.durable import enter_invocation
from hosting.names import Address, StoreKey
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.cluster.cluster import AGENT, THREAD, Cluster
from tests.support.direct import SignalClient
from tests.support.made_app import app_of, ask, served
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, owner, with_roles
from tests.support.rated import GOOD, kept, path_of, records, shared
from tests.support.receiver import WEBHOOKS, receiving

ADA, BOB = ({"issuer": ISSUER, "id": name, "name": name.title()} for name in ("ada", "bob"))


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has the thread "t" of one turn."""
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators")
    async with app.http:
        yield app


async def seen(owned: OwnedApp, user: str, path: str) -> list[tuple[float, str | None, Any]]:
    """Return scores, comments and authors as that user sees them."""
    shown = (await owned.ask(user, "GET", path)).json()["feedback"]
    return [(one["score"], one["comment"], one["by"]) for one in shown]


async def figures(owned: OwnedApp, user: str = "ada") -> list[dict[str, Any]]:
    """Return the figures of feedback by day, once all operations are done."""
    await owned.stored()
    days = (await owned.ask(user, "GET", "/api/agents/Clerk/figures")).json()["days"]
    return [day["feedback"] for day in days if "feedback" in day]


async def left(owned: OwnedApp) -> list[tuple[str, str]]:
    """Return all names that stand in the spaces of feedback, once all operations are done."""
    await owned.stored()
    return await kept(owned.app)


def move(monkeypatch: pytest.MonkeyPatch, owned: OwnedApp, ahead: timedelta) -> datetime:
    """Set the clock by which the app dates what it writes ahead, and return its time."""
    clocks = owned.app._services.log.clocks
    later = datetime.fromtimestamp(clocks.wall(), tz=UTC) + ahead
    monkeypatch.setattr(type(clocks), "wall", property(lambda self: later.timestamp))
    return later


@pytest.mark.moved_time
@pytest.mark.behaviour("feedback.once")
async def test_whichever_process_is_asked_there_is_one_feedback(cluster: Cluster) -> None:
    one, other = cluster.process(), cluster.process()
    path = f"/api/agents/{AGENT}/threads/{THREAD}/runs/{await one.run('hi')}/feedback"
    given = await asyncio.gather(*(process.http.post(path, json=GOOD) for process in (one, other)))
    replaced = await other.http.post(path, json={"score": 0.25})
    [shown] = (await one.http.get(path)).json()["feedback"]
    taken = await one.http.delete(path)

    assert sorted(answer.status_code for answer in given) == [200, 201]
    assert given[0].json() == given[1].json()
    assert (replaced.status_code, shown) == (200, replaced.json())
    assert (taken.status_code, (await other.http.get(path)).json()["feedback"]) == (204, [])


@pytest.mark.behaviour("feedback.seen")
async def test_the_owner_sees_all_and_a_reader_their_own(owned: OwnedApp) -> None:
    path = await path_of(owned)
    at_bob = await shared(owned, path)
    await owned.ask("ada", "POST", path, json={"score": 1})
    given = await owned.ask("bob", "POST", at_bob, json={"score": 0, "comment": "Wrong."})
    of_thread = at_bob.partition("/runs/")[0]

    assert (given.status_code, given.json()["by"]) == (201, BOB)
    assert await seen(owned, "ada", path) == [(1, None, ADA), (0, "Wrong.", BOB)]
    assert await seen(owned, "root", f"{path}?owner={owner('ada')}") == [(1, None, ADA), (0, "Wrong.", BOB)]
    assert await seen(owned, "bob", at_bob) == [(0, "Wrong.", BOB)]
    assert await seen(owned, "bob", f"{of_thread}/feedback") == [(0, "Wrong.", BOB)]
    assert (await owned.ask("bob", "GET", f"{of_thread}/export")).json()["feedback"] == []
    assert len((await owned.ask("ada", "GET", f"{THREADS}/t/export")).json()["feedback"]) == 2
    assert (await owned.ask("eve", "POST", path, json={"score": 0})).json()["code"] == "unknown_run"
    assert (await owned.ask("root", "POST", f"{path}?owner={owner('ada')}", json={"score": 0})).status_code == 403
    assert (await owned.ask("root", "DELETE", f"{path}?owner={owner('ada')}")).status_code == 204
    assert len(await seen(owned, "ada", path)) == 2


WRONG_FEEDBACK: list[tuple[Any, ...]] = [
    ({}, "'score'"),
    ({"score": -0.1}, "-0.1"),
    ({"score": 1.5}, "1.5"),
    ({"score": True}, "boolean"),
    ({"score": "1"}, "string"),
    ({"score": 10**400}, "1000"),
    ({"score": 1, "label": ""}, "label"),
    ({"score": 1, "label": "x" * 65}, "label"),
    ({"score": 1, "label": "<b>"}, "<b>"),
    ({"score": 1, "label": 3}, "label"),
    ({"score": 1, "comment": "x" * 4001}, "4001"),
    ({"score": 1, "comment": ["x"]}, "comment"),
    ({"score": 1, "stars": 5}, "stars"),
]


@pytest.mark.behaviour("feedback.refused")
async def test_a_value_outside_its_bounds_is_refused_by_name(owned: OwnedApp) -> None:
    path = await path_of(owned)
    for body, named in WRONG_FEEDBACK:
        refused = await owned.ask("ada", "POST", path, json=body)

        assert (refused.status_code, named in refused.json()["detail"]) == (400, True), refused.text
        assert (await seen(owned, "ada", path), await left(owned)) == ([], [])


@pytest.mark.behaviour("feedback.refused")
async def test_whatever_a_comment_has_is_kept_as_it_is(owned: OwnedApp) -> None:
    """Markup, invisible characters and other scripts are text; blanks alone are no comment."""
    path = await path_of(owned)
    hostile = "<script>alert(1)</script> \u202e\u0000 \U0001f600 ü"
    await owned.ask("ada", "POST", path, json={"score": 0, "comment": hostile})
    shown = await seen(owned, "ada", path)
    await owned.ask("ada", "POST", path, json={"score": 0, "comment": " \n "})

    assert shown == [(0, hostile, ADA)]
    assert await seen(owned, "ada", path) == [(0, None, ADA)]


@pytest.mark.behaviour("feedback.ended")
async def test_a_run_at_work_takes_no_feedback() -> None:
    async with served(app_of(scripted_agent("Joker"))) as (_, http):
        asked = await ask(http, "block 1", thread_id="t", wait_for_response=False)
        path = f"/api/agents/Joker/threads/t/runs/{asked.json()['run_id']}"
        refused = await http.post(f"{path}/feedback", json={"score": 1})
        unknown = await http.post("/api/agents/Joker/threads/t/runs/none/feedback", json={"score": 1})
        await http.post(f"{path}/cancel")

    assert (refused.status_code, refused.json()["code"]) == (409, "run_not_ended")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_run")


@pytest.mark.behaviour("feedback.ended")
async def test_a_reset_drops_the_feedback_before_it(owned: OwnedApp) -> None:
    """It is shown nowhere, counts no more once it was looked for, and cannot be given again; what comes later is."""
    path = await path_of(owned)
    await owned.ask("ada", "POST", path, json=GOOD)
    await owned.ask("ada", "POST", f"{THREADS}/t/reset")
    later = await path_of(owned)
    await owned.ask("ada", "POST", later, json={"score": 0})
    refused = await owned.ask("ada", "POST", path, json=GOOD)

    assert (await seen(owned, "ada", path), await seen(owned, "ada", later)) == ([], [(0, None, ADA)])
    assert await seen(owned, "ada", f"{THREADS}/t/feedback") == [(0, None, ADA)]
    assert (refused.status_code, refused.json()["code"]) == (409, "run_taken_back")
    assert await figures(owned) == [{"count": 1, "mean_score": 0.0, "labels": {}}]


@pytest.mark.behaviour("feedback.figures")
async def test_figures_count_feedback_by_day_and_label(owned: OwnedApp) -> None:
    path = await path_of(owned)
    at_bob = await shared(owned, path)
    for score, label in ((0, "wrong"), (0.4, "wrong"), (0.6, "slow")):
        await owned.ask("ada", "POST", path, json={"score": score, "label": label})
    await owned.ask("bob", "POST", at_bob, json={"score": 1, "label": "slow"})
    both = await figures(owned)
    await owned.ask("bob", "DELETE", at_bob)

    assert both == [{"count": 2, "mean_score": 0.8, "labels": {"slow": 2}}]
    assert await figures(owned) == [{"count": 1, "mean_score": 0.6, "labels": {"slow": 1}}]
    assert await figures(owned, "bob") == []


@pytest.mark.behaviour("feedback.told")
async def test_the_agents_webhook_is_told_of_each_change_without_the_comment() -> None:
    """Once, under an id of its own; the same feedback again is no news."""
    async with receiving() as receiver:
        app = app_of(scripted_agent("Joker"), environ=WEBHOOKS, webhook=f"{receiver.url}/hook")
        async with served(app) as (host, http):
            run_id = (await ask(http, "say hello", thread_id="t")).json()["run_id"]
            await receiver.next()
            path = f"/api/agents/Joker/threads/t/runs/{run_id}/feedback"
            for body in (GOOD, GOOD, {"score": 0}):
                assert (await http.post(path, json=body)).status_code in (200, 201)
                await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
            await http.delete(path)
            await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
            listed = (await http.get("/api/agents/Joker/threads/t/webhooks")).json()["deliveries"]
        told = [receiver.arrived.get_nowait() for _ in range(receiver.arrived.qsize())]

    messages = [one.verified() for one in told]
    data = [message.pop("data") for message in messages]
    assert [message["type"] for message in messages] == ["feedback.given"] * 2
    assert [(one["run_id"], one["score"], one["label"]) for one in data] == [(run_id, 1, "helpful"), (run_id, 0, None)]
    assert not any(b"invoice" in one.body for one in told)
    assert len({one.id for one in told}) == 2
    assert [one["state"] for one in listed if one["event"] == "feedback.given"] == ["delivered"] * 2


@pytest.mark.behaviour("feedback.traced")
@pytest.mark.parametrize("records_contents", [False, True])
async def test_feedback_is_an_event_of_the_runs_trace(
    owned: OwnedApp, monkeypatch: pytest.MonkeyPatch, *, records_contents: bool
) -> None:
    """By the names of the GenAI conventions; what does not change is not reported again."""
    exporter, provider = InMemoryLogRecordExporter(), LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    monkeypatch.setattr(_logs, "get_logger", provider.get_logger)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_instrumentation", records_contents)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_sensitive_data", records_contents)
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    sent = {"traceparent": f"00-{trace_id}-{span_id}-01"}
    run_id = (await owned.say("ada", "hello", headers=sent))["run_id"]
    for _ in range(2):
        await owned.ask("ada", "POST", f"{THREADS}/t/runs/{run_id}/feedback", json=GOOD)

    [event] = [one.log_record for one in exporter.get_finished_logs()]
    attributes = dict(event.attributes or {})
    comment = {"gen_ai.evaluation.explanation": GOOD["comment"]} if records_contents else {}
    assert (event.event_name, event.trace_id, event.span_id) == (
        "gen_ai.evaluation.result",
        int(trace_id, 16),
        int(span_id, 16),
    )
    assert attributes == {
        "gen_ai.evaluation.name": "user_feedback",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "helpful",
        "gen_ai.agent.name": "Clerk",
        "gen_ai.conversation.id": f"{owner('ada')}!t",
        "agent.run.id": run_id,
        **comment,
    }


@pytest.mark.behaviour("feedback.erased")
async def test_a_deleted_thread_leaves_nothing_of_its_feedback(owned: OwnedApp) -> None:
    """Neither figures nor what others gave: the receipt counts both, and their export has nothing."""
    path = await path_of(owned)
    at_bob = await shared(owned, path)
    await owned.ask("ada", "POST", path, json=GOOD)
    await owned.ask("bob", "POST", at_bob, json=GOOD)
    before = await left(owned)
    given = (await owned.ask("bob", "GET", "/api/owners/me/export")).json()["given_feedback"]
    await owned.ask("ada", "DELETE", f"{THREADS}/t")
    await owned.stored()
    receipt = (await owned.ask("ada", "GET", f"{THREADS}/t/erasure")).json()

    assert (len(before), receipt["feedback"], await left(owned)) == (3, 2, [])
    assert [(one["agent"], one["comment"]) for one in given] == [("clerk", GOOD["comment"])]
    assert (await owned.ask("bob", "GET", "/api/owners/me/export")).json()["given_feedback"] == []
    assert await figures(owned) == []


@pytest.mark.behaviour("feedback.erased")
async def test_an_erased_person_leaves_no_feedback_on_threads_of_others(owned: OwnedApp) -> None:
    path = await path_of(owned)
    at_bob = await shared(owned, path)
    await owned.ask("ada", "POST", path, json={"score": 0})
    await owned.ask("bob", "POST", at_bob, json=GOOD)
    await owned.ask("ada", "DELETE", f"{THREADS}/t/grants/{at_bob.split('/')[3]}")
    erased = await owned.ask("bob", "DELETE", "/api/owners/me")

    assert erased.status_code == 200, erased.text
    assert await seen(owned, "ada", path) == [(0, None, ADA)]
    assert await figures(owned) == [{"count": 1, "mean_score": 0.0, "labels": {}}]
    assert not any(owner("bob") in key for key, _ in await left(owned))


@pytest.mark.behaviour("feedback.erased")
async def test_feedback_that_comes_with_the_deletion_of_its_thread_leaves_nothing(
    owned: OwnedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, attachments = await path_of(owned), owned.app._services.stores.attachments
    put = attachments.put

    async def put_late(store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        if any(name.startswith("feedback-") for name in objects):
            monkeypatch.setattr(attachments, "put", put)
            await owned.ask("ada", "DELETE", f"{THREADS}/t")
            await owned.stored()
        await put(store_key, objects)

    monkeypatch.setattr(attachments, "put", put_late)
    refused = await owned.ask("ada", "POST", path, json=GOOD)

    assert (refused.status_code, refused.json()["code"]) == (410, "thread_deleted")
    assert await left(owned) == []
    assert await records(owned.app, Address.of("Clerk", "t", owner("ada"))) == []


@pytest.mark.behaviour("feedback.told")
async def test_a_change_without_its_signal_is_found_by_the_work_of_twice_a_day(
    owned: OwnedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is away when it is signalled: the caller is told so, and the figures have it later all the same."""
    path = await path_of(owned)
    await owned.stored()
    owned.host.entities.refuse_signals = True
    refused = await owned.ask("ada", "POST", path, json=GOOD)
    owned.host.entities.refuse_signals = False
    before, noted = await figures(owned), await left(owned)
    [work] = next(one for one in owned.app._served.features if isinstance(one, FeedbackFeature)).upkeep()
    client = enter_invocation(SignalClient(owned.host.entities))  # type: ignore[arg-type]
    await work.run(client)
    young = await figures(owned)
    move(monkeypatch, owned, timedelta(minutes=2))
    await work.run(client)

    assert (refused.status_code, before, young, len(noted)) == (503, [], [], 1)
    assert await figures(owned) == [{"count": 1, "mean_score": 1.0, "labels": {"helpful": 1}}]
    assert not {name for _, name in await left(owned)} & {name for _, name in noted}
