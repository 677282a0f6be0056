"""Time to live, at the entity: when a conversation's time begins, when it is up, and what wins over its end."""

import json
import time
from collections.abc import Iterator

import pytest

from hosting.core.agent.held_run import read_run
from hosting.core.thread.commands import DescribeThread
from hosting.core.thread.rows import DeletedRow
from hosting.errors import ConfigurationError
from hosting.options import AgentOptions
from hosting.ports import read_utc, utc
from tests.support.bench import ADDRESS, Bench

TTL = 3600.0


@pytest.fixture
def bench() -> Iterator[Bench]:
    """One thread of an agent with a time to live of an hour."""
    bench = Bench(ttl_seconds=TTL)
    yield bench
    bench.loop.close()


def expiration(bench: Bench) -> float | None:
    """Return when the stored conversation's time is up, in seconds since 1970."""
    text = json.loads(bench.state or "null")["data"].get("expirationTimeUtc")
    return None if text is None else read_utc(text)


def age(bench: Bench, seconds: float) -> None:
    """Have the stored conversation written so much longer ago."""
    document, at = json.loads(bench.state or "null"), expiration(bench)
    assert at is not None
    document["data"]["expirationTimeUtc"] = utc(at - seconds)
    bench.state = json.dumps(document)


async def left(bench: Bench, run_id: str) -> float:
    """Return how long behind that run's end the conversation's time is up, in whole seconds."""
    at = expiration(bench)
    assert at is not None
    return round(at - (await bench.terminal(run_id)).at)


async def expire(bench: Bench, *, commit: bool = True) -> None:
    """Have the thread asked whether its time is up."""
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
    """Not before, and its runs with it."""
    run_id = await bench.run("one")
    age(bench, TTL - 60)
    await expire(bench)
    assert bench.places() == [run_id]

    age(bench, 60)
    await expire(bench)

    assert bench.state is None
    assert isinstance(await read_run(bench.services.log, ADDRESS, run_id), DeletedRow)


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_thread_that_has_nothing_but_metadata_ends_too(bench: Bench) -> None:
    """Its time begins when the sweep finds it."""
    log = bench.services.log
    await log.execute(ADDRESS, DescribeThread(time.time(), 0, {"for": "a test"}))
    await bench.deliver({"position": 1}, name="store")
    await expire(bench)
    begun = expiration(bench)
    age(bench, TTL + 1)
    await expire(bench)

    assert (begun is not None, bench.state, (await log.head(ADDRESS)).state) == (True, None, "deleted")


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
async def test_an_end_that_is_delivered_late_leaves_the_new_conversation_alone(bench: Bench) -> None:
    """Its own document says how long it stays."""
    await bench.run("one")
    age(bench, TTL)
    await expire(bench)
    kept = await bench.run("two")

    await expire(bench)

    assert bench.places() == [kept]


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_thread_from_before_its_agent_had_a_time_to_live_begins_its_time_when_it_is_found(bench: Bench) -> None:
    """And ends one such time later."""
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


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_conversation_that_cannot_be_read_has_no_end(bench: Bench) -> None:
    """It stays byte for byte."""
    bench.state = '{"schemaVersion":"9.0.0","data":{"expirationTimeUtc":"2020-01-02T03:04:05Z"}}'
    before = bench.state

    await expire(bench)

    assert bench.state == before


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_a_time_to_live_that_is_none_is_refused(seconds: float) -> None:
    """By a sentence that names the agent."""
    with pytest.raises(ConfigurationError, match="ttl_seconds of agent 'Joker'"):
        AgentOptions(ttl_seconds=seconds).check("Joker")


async def breaks(text: str) -> None:
    """Fail, as a model does."""
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
