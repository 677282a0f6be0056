"""The promises to the caller of a run: more messages for it, tools that the caller runs, and the caller's token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from conformance.expectations import expect, expect_answered_once, expect_nothing_of, owners
from conformance.port import End, Refused, Service
from conformance.trial import TOOL, Broken, NotTried, Trial, checks_of

SHORTEST_TOKEN = 16
"""A text below that may stand anywhere by chance."""
AT_ONCE = 3


async def steer_once(trial: Trial) -> None:
    """Send a message that is to join a run at work, wait for both, and read the conversation."""
    await _expect_joined(trial, count=1)


async def steer_order(trial: Trial) -> None:
    """Send three messages in turn that are to join a run at work, wait for all, and read the conversation."""
    await _expect_joined(trial, count=3)


async def kill_steer(trial: Trial) -> None:
    """Send a message that is to join a run at work, kill the service, wait for both, and read the conversation."""
    await _expect_joined(trial, count=1, is_killed=True)


async def _expect_joined(trial: Trial, count: int, is_killed: bool = False) -> None:
    """The messages stand in the conversation once, behind the one that the run began with, in their order."""
    if trial.service.lacks("steer"):
        await trial.service.steer("", "")  # not offered, whatever a slow run is
    thread, first = await trial.service.new_thread(), trial.message(trial.work or trial.slow)
    words = [trial.message() for _ in range(count)]
    run = await trial.slow_run(thread, message=first)
    runs = [run, *[await trial.service.steer(thread, word) for word in words]]
    if is_killed:
        await trial.killed()
    ends = [await trial.end(each) for each in runs]
    sent = "".join(entry.text for entry in await trial.service.conversation(thread) if entry.by == "user")

    expect({end.status for end in ends} == {"completed"}, f"the run ended as {ends[0]}, the messages' as {ends[1:]}")
    expect(sent == "".join([first, *words]), f"sent {[first, *words]}, and the conversation has {sent!r}")


async def client_tool_once(trial: Trial) -> None:
    """Give a call of the caller's tool two results at once, the second once more later, and read the conversation."""
    thread = await trial.service.new_thread()
    call = await trial.called(thread)

    await expect_answered_once(
        trial, thread, lambda is_first: trial.service.give(thread, call, "here" if is_first else "there")
    )


async def client_tool_refused(trial: Trial) -> None:
    """Bring a tool to an agent whose author lets callers bring none, and read the conversation."""
    if trial.service.lacks("start_with_tool"):
        await trial.service.start_with_tool("", "", TOOL)  # not offered, whatever the user gave for it
    if not trial.closed:
        raise NotTried("no --closed AGENT, an agent whose author lets callers bring no tools")
    closed = trial.service.of_agent(trial.closed)
    thread = await closed.new_thread()
    try:
        run = await closed.start_with_tool(thread, trial.message(trial.tool), TOOL)
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))
    else:
        raise Broken(f"the tool was taken, and the run ended as {await closed.end(run)}")

    await expect_nothing_of(closed, thread)


async def user_token_own(trial: Trial) -> None:
    """Have a tool work for one caller, and then for another, and look whose token it got."""
    for number, service in enumerate(await _callers(trial)):
        _expect_own(trial, number, await _worked(trial, service))


async def user_token_apart(trial: Trial) -> None:
    """Have the tool work for two callers at the same moment, three times for each."""
    callers = await _callers(trial)
    numbers = [number for _ in range(AT_ONCE) for number in range(len(callers))]
    ends = await asyncio.gather(*(_worked(trial, callers[number]) for number in numbers))
    for number, end in zip(numbers, ends, strict=True):
        _expect_own(trial, number, end)


async def user_token_kept(trial: Trial) -> None:
    """Have the tool work for a caller, and look for the token in what the service shows of the thread, and stores."""
    caller, _ = await _callers(trial)
    secret = _secret(trial.owners[0], trial.token_header)
    thread, message = await caller.new_thread(), trial.message(trial.behalf)
    end = await caller.ask_waiting(thread, message)
    _expect_own(trial, 0, end)
    expect(secret not in await caller.shown(thread), "the service shows the caller's token with the thread")
    if trial.stored is None:
        raise NotTried(
            "no --stored COMMAND, which prints all that the service stores; it shows no token with the thread"
        )
    stored = await trial.stored()
    if message not in stored:
        raise NotTried("what --stored prints has nothing of the message, so it proves nothing of the token")

    expect(secret not in stored, "the service stores the caller's token")


async def _callers(trial: Trial) -> tuple[Service, Service]:
    """Return the service for each of two owners, who send their tokens."""
    await trial.takes_messages()
    pair = owners(trial)
    if not trial.behalf or len(set(trial.says)) != len(pair):
        raise NotTried("no --behalf MESSAGE, which makes a tool work with the caller's token, with two --says WORD")
    return pair


async def _worked(trial: Trial, service: Service) -> End:
    return await service.ask_waiting(await service.new_thread(), trial.message(trial.behalf))


def _expect_own(trial: Trial, number: int, end: End) -> None:
    own, other = trial.says[number], trial.says[1 - number]
    expect(end.status == "completed", f"the run of owner {number + 1} ended as {end}")
    expect(own in end.text and other not in end.text, f"for {own!r} the tool's answer was {end.text!r}")


def _secret(headers: Mapping[str, str], name: str) -> str:
    """Return of a token the part that no other token has: the signature, or all of it."""
    secret = headers.get(name.lower(), "").split(" ")[-1].rpartition(".")[2]
    if len(secret) < SHORTEST_TOKEN:
        raise NotTried(
            f"the first --owner has no token of {SHORTEST_TOKEN} characters in {name}: name it by --token-header"
        )
    return secret


CALLER_CHECKS = checks_of(
    ("steer.once", "A message that is to join the run at work is given once.", steer_once),
    ("steer.order", "Messages that are to join the run at work are given in their order.", steer_order),
    ("client-tool.once", "A call of a tool that the caller runs takes one result.", client_tool_once),
    (
        "client-tool.refused",
        "A caller's tool is refused where the agent's author allows none, and leaves nothing.",
        client_tool_refused,
    ),
    ("user-token.own", "A tool that works for a caller gets the token of that caller.", user_token_own),
    ("user-token.apart", "Runs of two callers at the same moment have each their caller's token.", user_token_apart),
    ("user-token.kept", "A caller's token is neither shown with the thread nor stored.", user_token_kept),
)
