"""A turn when its host is killed with SIGKILL: in the middle, between turns, and at every point around its commit."""

import httpx
import pytest

from tests.faults.app_process import AppFolder, until_dead
from tests.support.carriers import Api
from tests.support.kept_in import KINDS, kept_in

pytestmark = pytest.mark.slow

UNWAITED = {"thread_id": "t", "wait_for_response": False}
CRASHES = [
    (point, nth)
    for nth in (1, 2)
    for point in ("before-commit", "before-entity", "after-entity", "inside-commit", "after-commit")
]
IN_EVERY_STORE = pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)


@pytest.mark.behaviour("turn.survives-kill")
@IN_EVERY_STORE
async def test_a_run_whose_host_is_killed_finishes_after_the_restart(folder: AppFolder) -> None:
    """Its Location answers, with one answer and one place in the conversation; the log says that it restarted."""
    with folder.host() as host:
        accepted = await ask_and_leave(folder.api(host), "sleep 0.4")
        await folder.until_model_called("sleep 0.4")

    with folder.host() as host:
        api = folder.api(host)
        ended = await api.ended(accepted["location"])
        entries = await api.entries("t")
        await api.http.aclose()

    assert (ended["status"], ended["response"], ended["run_id"]) == ("success", "echo: sleep 0.4", accepted["run_id"])
    assert places_of(entries) == [accepted["run_id"]]
    assert folder.model_calls("sleep 0.4") == 2


@pytest.mark.behaviour("turn.survives-kill")
async def test_a_conversation_is_remembered_by_the_next_host(folder: AppFolder) -> None:
    """Killed between two turns, nothing of the first is lost, and its answer is still at its place."""
    with folder.host() as host:
        api = folder.api(host)
        first = (await api.ask("my name is Ada", thread_id="t")).json()
        await api.http.aclose()

    with folder.host() as host:
        api = folder.api(host)
        second = await api.ask("recall", thread_id="t")
        again = await api.http.get(f"/api/agents/Joker/threads/t/runs/{first['run_id']}")
        await api.http.aclose()

    assert second.json()["response"] == "my name is Ada | recall"
    assert again.json() == first


@pytest.mark.behaviour("turn.survives-kill-at-every-point")
@pytest.mark.parametrize(
    ("point", "nth", "stores"), kept_in(*KINDS, first=CRASHES[0], rest=CRASHES[1:]), indirect=["stores"]
)
async def test_a_kill_at_a_point_of_the_engine_changes_no_outcome(folder: AppFolder, point: str, nth: int) -> None:
    """Two turns, a kill at the n-th passing of the point, a restart: each turn once, answered, in order.

    A request whose host died before it answered is sent again with its key, as a client would.
    """

    async def both(api: Api) -> None:
        for word in ("one", "two"):
            await ask_with_key(api, word)

    await folder.host_killed_by({"DEVHOST_CRASH_AT": f"{point}:{nth}"}, both)

    with folder.host() as host:
        api = folder.api(host)
        answers = [await ask_with_key(api, word) for word in ("one", "two")]
        entries = await api.entries("t", turns=2)
        await api.http.aclose()

    assert [answer.json()["response"] for answer in answers] == ["echo: one", "echo: two"]
    assert places_of(entries) == [answer.json()["run_id"] for answer in answers]


@pytest.mark.behaviour("turn.terminal-record-wins")
@IN_EVERY_STORE
async def test_an_answer_in_the_log_is_not_asked_for_again(folder: AppFolder) -> None:
    """Killed after the agent ended and before the conversation was written: the model was asked once."""
    await folder.host_killed_by({"DEVHOST_CRASH_AT": "after-entity"}, lambda api: ask_with_key(api, "one"))

    with folder.host() as host:
        api = folder.api(host)
        answer = await ask_with_key(api, "one")
        after = await api.ask("recall", thread_id="t")
        await api.http.aclose()

    assert (answer.json()["response"], after.json()["response"]) == ("echo: one", "one | recall")
    assert folder.model_calls("one") == 1


@pytest.mark.behaviour("turn.crashing-message-ends")
@IN_EVERY_STORE
async def test_a_message_that_kills_its_process_three_times_is_given_up_and_the_thread_goes_on(
    folder: AppFolder,
) -> None:
    """The run ends `run_crashed`; what was said before is remembered, what killed is not sent again."""
    with folder.host() as host:
        api = folder.api(host)
        await api.ask("before", thread_id="t")
        accepted = await ask_and_leave(api, "exit 0.3")
        assert await until_dead(host) == 9
    assert [folder.host_until_dead() for _ in range(2)] == [9, 9]

    with folder.host() as host:
        api = folder.api(host)
        ended = await api.ended(accepted["location"])
        after = await api.ask("recall", thread_id="t")
        await api.http.aclose()

    assert (ended["status"], ended["error"]["code"]) == ("failed", "run_crashed")
    assert ended["error"]["detail"] == "The run ended its process 3 times and is not retried."
    assert after.json()["response"] == "before | recall"
    assert folder.model_calls("exit 0.3") == 3


async def ask_and_leave(api: Api, message: str) -> dict[str, str]:
    """Start a run without waiting; return its id and the path of its Location, which outlives the host's port."""
    answer = await api.ask(message, **UNWAITED)
    await api.http.aclose()
    return {"run_id": answer.json()["run_id"], "location": httpx.URL(answer.headers["location"]).path}


async def ask_with_key(api: Api, word: str) -> httpx.Response:
    """Ask on the thread `t` under a key of the word."""
    headers = {"idempotency-key": f"key-{word}"}
    return await api.http.post("/api/agents/Joker/run", json={"message": word, "thread_id": "t"}, headers=headers)


def places_of(entries: list[dict[str, str]]) -> list[str]:
    """Return the runs of a conversation in order; fails unless each is a request and its response, once."""
    assert [entry["$type"] for entry in entries] == ["request", "response"] * (len(entries) // 2)
    runs = [entry["correlationId"] for entry in entries]
    assert runs[::2] == runs[1::2]
    return runs[::2]
