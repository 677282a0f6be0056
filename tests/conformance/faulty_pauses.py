"""What of a service of the tests waits for a person, or for its time to be over."""

from __future__ import annotations

import asyncio

from aiohttp import web

from tests.conformance.faults import FAULTS, TWICE
from tests.conformance.faulty_runs import Run, Thread

ASKED_TEXT = "as the model asked for it"
DEFAULT_SECONDS, DEFAULT_TEXT = 0.3, "the depot"


class Pauses:
    """The calls that wait, and their answers: from a person at one of its two processes, or by default."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.threads: dict[tuple[str, str], Thread] = {}
        self.approvals: dict[str, Run] = {}
        self.decided: set[tuple[str, bool]] = set()
        self.deciding, self.two_decide = 0, asyncio.Event()
        self.timers: set[asyncio.Task[None]] = set()
        self.beside = ""
        """The base URL of its other process."""

    def has(self, fault: str) -> bool:
        assert fault in FAULTS
        return self.fault == fault

    def _new(self, owner: str, thread: str, message: str) -> Run:
        raise NotImplementedError

    def _work(self, thread: Thread) -> None:
        raise NotImplementedError

    def _shown(self, run: Run) -> web.Response:
        raise NotImplementedError

    def start_timer(self, run: Run) -> None:
        """Have a run go on by its default once the time for that has come."""
        timer = asyncio.ensure_future(self._by_default(run))
        self.timers.add(timer)
        timer.add_done_callback(self.timers.discard)

    async def _by_default(self, run: Run) -> None:
        await asyncio.sleep(DEFAULT_SECONDS)
        is_answered = self.approvals.pop(run.approval, None) is None
        if not is_answered or self.has("defaults come behind an answer"):
            for _ in range(2 if self.has("defaults come twice") else 1):
                self._goes_on(run, DEFAULT_TEXT)

    def _goes_on(self, run: Run, text: str) -> Run:
        after = self._new(run.owner, run.thread, text)
        thread = self.threads[run.owner, run.thread]
        thread.runs.append(after)
        self._work(thread)
        return after

    def _is_beside(self, request: web.Request) -> bool:
        """Whether the request came to the other process."""
        assert request.transport is not None
        return self.beside.endswith(f":{request.transport.get_extra_info('sockname')[1]}/api")

    def _is_known(self, run: Run, request: web.Request) -> bool:
        """Whether the process that is asked knows what a run waits for: with two faults, only where that began."""
        alone = (
            ("refund", "processes know their own approvals alone"),
            ("ask", "processes know their own questions alone"),
        )
        is_alone = any(run.message.startswith(word) and self.has(fault) for word, fault in alone)
        return run.is_beside == self._is_beside(request) or not is_alone

    async def _waiting(self, request: web.Request) -> web.Response:
        waiting = {"arguments": {"text": ASKED_TEXT}, "answer_schema": {"type": "string"}, "default": DEFAULT_TEXT}
        return web.json_response({"approvals": [{"id": approval, **waiting} for approval in self.approvals]})

    async def _decide(self, request: web.Request) -> web.Response:
        approval, body = request.match_info["approval"], await request.json()
        run, decision = self.approvals.get(approval), (approval, self._is_beside(request))
        if run is None or decision in self.decided or not self._is_known(run, request):
            return web.json_response({"code": "approval_answered"}, status=409)
        is_wrong = not isinstance(body.get("value", ""), str)
        if is_wrong and self.has("a wrong answer ends its question"):
            self.approvals.pop(approval)
        if is_wrong and not self.has("answers are not checked"):
            return web.json_response({"code": "invalid_input"}, status=400)
        if self.fault in TWICE:
            self.deciding += 1
            if self.deciding > 1:
                self.two_decide.set()
            await self.two_decide.wait()
        if self.has("processes decide once each"):
            self.decided.add(decision)
        elif not self.has("approvals are taken again later"):
            self.approvals.pop(approval, None)
        text = body.get("arguments", {"text": body.get("value", "It is paid back.")})["text"]
        after = self._goes_on(run, ASKED_TEXT if self.has("edits are ignored") else str(text))
        after.is_edited = "arguments" in body
        return self._shown(after)
