"""Time to live, at the entity: when a conversation's time begins, when it is up, and what wins over its end."""

import json
from collections.abc import Iterator

import pytest

from hosting.core.agent.held_run import read_run
from hosting.core.thread.rows import DeletedRow
from hosting.ports import read_utc, utc
from tests.support.bench import ADDRESS, Bench

TTL = 3600.0


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(ttl_seconds=TTL)
    yield bench
    bench.loop.close()


def expiration(bench: Bench) -> float | None:
    text = json.loads(bench.state or "null")["data"].get("expirationTimeUtc")
    return None if text is None else read_utc(text)


def age(bench: Bench, seconds: float) -> None:
    document, at = json.loads(bench.state or "null"), expiration(bench)
    assert at is not None
    document["data"]["expirationTimeUtc"] = utc(at - seconds)
    bench.state = json.dumps(document)


async def left(bench: Bench, run_id: str) -> float:
    at = expiration(bench)
    assert at is not None
    return round(at - (await bench.terminal(run_id)).at)


async def expire(bench: Bench, *, commit: bool = True) -> None:
    await bench.deliver({"logged": True}, name="expire", commit=commit)


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_run_without_an_answer_begins_it_only_where_there_is_none(bench: Bench) -> None:
    """A thread that never had an answer does not stay for ever."""
    bench.agent.work = breaks
    failed = await bench.run("one")
    assert await left(bench, failed) == TTL
    age(bench, 1800)

    await bench.run("two")

    assert await left(bench, failed) == TTL - 1800


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_thread_is_deleted_once_its_time_is_up(bench: Bench) -> None:
    run_id = await bench.run("one")
    age(bench, TTL - 60)
    await expire(bench)
    assert bench.places() == [run_id]

    age(bench, 60)
    await expire(bench)

    assert bench.state is None
    assert isinstance(await read_run(bench.services.log, ADDRESS, run_id), DeletedRow)


@pytest.mark.behaviour("erasure.message-wins")
async def test_a_message_at_the_last_second_wins(bench: Bench) -> None:
    """The run is open when the thread is asked: it is answered, knows what was said, and begins the time anew."""
    await bench.run("one")
    age(bench, TTL)
    run_id = await bench.open("recall")

    await expire(bench)
    await bench.signal(run_id)

    assert bench.agent.seen[-1] == ["one", "echo: one", "recall"]
    assert await left(bench, run_id) == TTL


@pytest.mark.behaviour("erasure.message-wins")
async def test_an_end_that_was_lost_before_its_commit_comes_with_its_second_delivery(bench: Bench) -> None:
    """The tombstone stands: the document goes too, also when a message came in between, which begins a new one."""
    await bench.run("one")
    age(bench, TTL)
    await expire(bench, commit=False)
    bench.restart()
    later = await bench.open("two")

    await expire(bench)
    await bench.signal(later)

    assert bench.places() == [later]
    assert bench.agent.seen[-1] == ["two"]


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_thread_from_before_its_agent_had_a_time_to_live_begins_its_time_when_it_is_found(bench: Bench) -> None:
    bench.ttl_seconds = None
    bench.restart()
    await bench.run("one")
    assert expiration(bench) is None
    bench.ttl_seconds = TTL
    bench.restart()

    await expire(bench)
    age(bench, TTL)
    await expire(bench)

    assert bench.state is None


@pytest.mark.behaviour("erasure.time-to-live")
async def test_an_agent_without_a_time_to_live_ends_nothing(bench: Bench) -> None:
    """What had an end, keeps it until the next answer takes it away."""
    await bench.run("one")
    age(bench, TTL)
    before = bench.state
    bench.ttl_seconds = None
    bench.restart()

    await expire(bench)
    assert bench.state == before
    await bench.run("two")

    assert "expirationTimeUtc" not in (bench.state or "")


@pytest.mark.behaviour("erasure.time-to-live")
@pytest.mark.parametrize(
    ("written", "is_deleted"),
    [
        ("2020-01-02T03:04:05.1234567Z", True),
        ("2020-01-02T03:04:05+00:00", True),
        ("2099-01-02T03:04:05Z", False),
        ("2020-13-02T03:04:05Z", False),
        ("2020-01-02T03:04:05+02:00", False),
        ("soon", False),
    ],
)
async def test_times_of_other_packages_are_read_and_others_are_never_up(
    bench: Bench, written: str, is_deleted: bool
) -> None:
    """A time that cannot be understood deletes nothing."""
    bench.state = json.dumps(
        {"schemaVersion": "1.2.0", "data": {"conversationHistory": [], "expirationTimeUtc": written}}
    )

    await expire(bench)

    assert (bench.state is None) == is_deleted


async def breaks(text: str) -> None:
    raise RuntimeError("the model is away")


@pytest.mark.behaviour("erasure.time-to-live")
async def test_the_reminder_that_dotnet_left_is_taken_as_the_sweep_s_order(bench: Bench) -> None:
    """Its package sent it to the thread's own entity, for the time at which the thread was to end."""
    await bench.run("one")
    await bench.deliver(None, name="CheckAndDeleteIfExpired")
    assert bench.state is not None

    age(bench, TTL + 1)
    await bench.deliver(None, name="CheckAndDeleteIfExpired")

    assert bench.state is None
