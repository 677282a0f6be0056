"""A queue that two processes of an app drain, and all that a test puts in and takes out."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.queue.aio import QueueClient, QueueServiceClient

from tests.support.carriers import APP, run_count
from tests.support.kept_in import HUB
from tests.support.running_host import RunningHost
from tests.support.whole_lines import whole_lines

FUNCTION = Path(__file__).resolve().parent / "queue_app" / "function_app.py"
QUEUES = {"maxPollingInterval": "00:00:00.2", "newBatchThreshold": 0}
"""No poll is under way while a message is worked on, so a killed process has told of each that it had."""
POISON = ("poison", "fail at once")
"""A body that the function refuses, and one whose run ends without an answer."""


class DrainedQueue:
    """The queue in an account, and the folder of the app. `answers` are the runs that answered, by their answer."""

    def __init__(self, account: QueueServiceClient, setting: str, name: str, folder: Path) -> None:
        self._account, self._queue = account, account.get_queue_client(name)
        self._folder = shutil.copytree(APP, folder / "app")
        shutil.copy(FUNCTION, self._folder)
        self._deliveries = folder / "deliveries.txt"
        self._environ = {
            "AzureWebJobsStorage": setting,
            "AGENT_LOG": "sqlite:.agents/log.sqlite",
            "INBOX": name,
            "DELIVERIES": str(self._deliveries),
            "NOTES": os.devnull,
            HUB: name,
        }
        self._sent = 0
        self.answers: defaultdict[str, set[str]] = defaultdict(set)

    @contextmanager
    def hosts(self, kill_at: str, batch_size: int) -> Iterator[RunningHost]:
        """Run two processes that listen and one with the entities; yield that of the two that kills itself."""
        settings = json.loads((self._folder / "host.json").read_text(encoding="utf-8"))
        settings["extensions"]["queues"] = {**QUEUES, "batchSize": batch_size}
        (self._folder / "host.json").write_text(json.dumps(settings), encoding="utf-8")
        with ExitStack() as stack:

            def run(*group: str, **own: str) -> RunningHost:
                arguments = ("--port", "0", "--group", *group)
                return stack.enter_context(RunningHost(self._folder, *arguments, environ={**self._environ, **own}))

            run("durable", "--queue-poll", "0.05")
            run("function:inbox")
            yield run("function:inbox", KILL=kill_at)

    async def drain(self, least: int, victim: RunningHost, ahead: int) -> int:
        """Put at least so many messages, and more until the victim is dead; return their number once all are answered.

        So many are without an answer at most: the emulator looks at all of its messages for each call. The messages
        that the dead process had come again at once, whose ten minutes are not waited for.
        """
        await self._queue.create_queue()
        for body in POISON:
            await self._put(body)
        is_dead = False
        while not is_dead or len(self.answers) < self._sent:
            if not is_dead and victim.process.poll() is not None:
                is_dead = True
                await self._show_again(victim.process.pid)
            while (self._sent < least or not is_dead) and self._sent < len(self.answers) + ahead:
                await self._put(f"message {self._sent}")
                self._sent += 1
            await self._take_answers()
        return self._sent

    async def given_up(self) -> set[str]:
        """Return the bodies that are in the poison queue, once each that is to come there has."""
        bodies = set[str]()
        poison = self._account.get_queue_client(f"{self._queue.queue_name}-poison")
        while len(bodies) < len(POISON):
            bodies |= {base64.b64decode(text).decode() for text in await _taken(poison)}
        return bodies

    def runs(self) -> int:
        """Return how many runs the app has accepted."""
        return run_count(self._folder / ".agents" / "log.sqlite")

    async def _put(self, body: str) -> None:
        await self._queue.send_message(base64.b64encode(body.encode()).decode())

    async def _take_answers(self) -> None:
        for text in await _taken(self._account.get_queue_client(f"{self._queue.queue_name}-answers")):
            answer = json.loads(base64.b64decode(text))
            self.answers[answer["answer"]].add(answer["run_id"])

    async def _show_again(self, process: int) -> None:
        for line in whole_lines(self._deliveries):
            of, message, receipt = line.split()
            if int(of) == process:
                with suppress(HttpResponseError):  # it was done, or is another delivery by now
                    await self._queue.update_message(message, receipt, visibility_timeout=0)


async def _taken(queue: QueueClient) -> list[str]:
    """Return the messages that are in a queue, if there is one, and remove them; wait a moment where there are none."""
    texts = list[str]()
    with suppress(ResourceNotFoundError):  # the host makes it with its first message
        async for message in queue.receive_messages(messages_per_page=32, visibility_timeout=300):
            texts.append(str(message.content))
            await queue.delete_message(message)
    if not texts:
        await asyncio.sleep(0.05)
    return texts
