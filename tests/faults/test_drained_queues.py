"""A real queue that two processes drain, one of which is killed in the middle: each message has one run."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.queue.aio import QueueClient, QueueServiceClient

from tests.faults.killed_app import KILLED, KilledApp, kill_at
from tests.support.azurite import Azurite
from tests.support.carriers import GUARD_SECONDS, run_count
from tests.support.kept_in import HUB
from tests.support.running_host import RunningHost

pytestmark = [*KILLED, pytest.mark.behaviour("triggers.two-hosts")]

INBOX = '''
import os

import azure.functions as func
from azure.storage.queue.aio import QueueClient
from tests.faults.deaths import dying
from tests.support.app.scripted import scripted_agent

for verb in ("send_message", "delete_message"):
    dies_around(QueueClient, verb, verb)
app = AgentFunctionApp(agents=[scripted_agent("Joker")])


async def end(run):
    async def answer():
        return {"run_id": run.run_id, "answer": run.response}

    return await dying({"end"}, answer)


@app.agent_trigger("Joker", on_end=end)
@app.queue_trigger(arg_name="message", queue_name="%INBOX%", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="answers", queue_name="%INBOX%-answers", connection="AzureWebJobsStorage")
async def inbox(message: func.QueueMessage) -> None:
    """Send the body; one of the bodies is poison. The receipt is that by which a test shows the message again."""
    note(f"{os.getpid()} {message.id} {message.pop_receipt}")
    if message.get_body() == b"poison":
        raise ValueError("a message that this function cannot take")
'''
QUEUES = {"maxPollingInterval": "00:00:00.2", "newBatchThreshold": 0, "batchSize": 4}
"""No poll is under way while a message is worked on, so a killed process has told of each that it had."""
POISON = {"poison", "fail at once"}
"""A body that the function refuses, and one whose run ends without an answer."""
MESSAGES = [f"message {number}" for number in range(20)]
STEPS = ("6", "signal 4", "end 4", "send_message 4", "delete_message 4")
POINTS = [f"{when} {step}" for when in ("after", "before") for step in STEPS]


@contextmanager
def draining(app: KilledApp, point: str) -> Iterator[RunningHost]:
    """Run two processes that listen and one with the entities; yield that of the two that kills itself."""
    settings = json.loads((app.path / "host.json").read_text(encoding="utf-8"))
    settings["extensions"]["queues"] = QUEUES
    (app.path / "host.json").write_text(json.dumps(settings), encoding="utf-8")
    with ExitStack() as stack:

        def run(*group: str, **own: str) -> RunningHost:
            arguments = ("--port", "0", "--group", *group)
            return stack.enter_context(RunningHost(app.path, *arguments, environ={**app.environ, **own}))

        run("durable", "--queue-poll", "0.05")
        run("function:inbox")
        yield run("function:inbox", **kill_at(point))


async def take(queue: QueueClient) -> list[str]:
    """Return the messages that are in a queue, if there is one, and remove them."""
    texts = list[str]()
    with suppress(ResourceNotFoundError):  # the host makes it with its first message
        async for message in queue.receive_messages(messages_per_page=32, visibility_timeout=300):
            texts.append(base64.b64decode(str(message.content)).decode())
            await queue.delete_message(message)
    return texts


@pytest.mark.parametrize(
    "point", [pytest.param(each, marks=pytest.mark.explore if number else ()) for number, each in enumerate(POINTS)]
)
async def test_each_message_has_one_run_though_one_of_two_processes_is_killed(
    azurite: Azurite, tmp_path: Path, point: str
) -> None:
    """None is lost, and two that cannot be answered are given up beside the others."""
    name = f"t{uuid.uuid4().hex[:16]}"
    stores = {"AzureWebJobsStorage": azurite.connection_string, "AGENT_LOG": "sqlite:.agents/log.sqlite", HUB: name}
    app = KilledApp(tmp_path, stores, INBOX, INBOX=name)
    answers, given_up = defaultdict[str, set[str]](set), set[str]()

    async with QueueServiceClient.from_connection_string(azurite.connection_string) as account:
        inbox, answered, poison = [account.get_queue_client(name + end) for end in ("", "-answers", "-poison")]

        async def is_drained() -> bool:
            for text in await take(answered):
                answer = json.loads(text)
                answers[answer["answer"]].add(answer["run_id"])
            given_up.update(await take(poison))
            return len(answers) == len(MESSAGES) and given_up == POISON

        await inbox.create_queue()
        with draining(app, point) as victim:
            for body in (*POISON, *MESSAGES):
                await inbox.send_message(base64.b64encode(body.encode()).decode())
            await asyncio.wait_for(asyncio.to_thread(victim.process.wait), 8 * GUARD_SECONDS)
            for line in app.said:  # what it had comes again at once: ten minutes are not waited for
                process, message, receipt = line.split()
                if int(process) == victim.process.pid:
                    with suppress(HttpResponseError):  # it was done, or is another delivery by now
                        await inbox.update_message(message, receipt, visibility_timeout=0)
            await app.until(is_drained, 18 * GUARD_SECONDS)

    assert sorted(answers) == sorted(f"echo: {message}" for message in MESSAGES)
    assert {len(runs) for runs in answers.values()} == {1}
    assert run_count(app.path / ".agents" / "log.sqlite") == len(MESSAGES) + 1
