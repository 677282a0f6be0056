"""A small agent service over real HTTP that keeps every promise of the pack but the one that its fault names.

It speaks durable-agent-host's routes, keeps all in memory, and plays a kill -9: connections break, work under way
stops, and what a durable service would have stored is there when it goes on.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.conformance.faulty_pauses import ASKED_TEXT, Pauses
from tests.conformance.faulty_runs import Run, Thread, until

PIECES, PIECE_SECONDS = 8, 0.04
OPEN = ("queued", "running")
PAUSES = ("refund", "lookup", "ask", "edit", "default")
LIMIT_PIECES = 4


class FaultyService(Pauses):
    """The service, and its process: `killed()` is a kill -9 and the start behind it."""

    def __init__(self, fault: str = "") -> None:
        super().__init__(fault)
        self.runs: dict[str, Run] = {}
        self.keys: dict[tuple[str, str], tuple[str, str]] = {}
        self.handlers: set[asyncio.Task[Any]] = set()
        self.workers: set[asyncio.Task[None]] = set()
        self.newest_token = ""

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Serve until the end of the block, at the URL that this gives."""
        app = web.Application(middlewares=[self._as_a_process])
        thread = "/api/agents/{agent}/threads/{thread}"
        app.add_routes(
            [
                web.get("/api/agents", self._agents),
                web.post("/api/agents/{agent}/run", self._run),
                web.get(f"{thread}/messages", self._messages),
                web.get(f"{thread}/export", self._export),
                web.delete(thread, self._delete),
                web.get(f"{thread}/runs", self._runs),
                web.get(f"{thread}/runs/{{run}}", self._status),
                web.get(f"{thread}/runs/{{run}}/timeline", self._status),
                web.get(f"{thread}/runs/{{run}}/events", self._events),
                web.post(f"{thread}/runs/{{run}}/cancel", self._cancel),
                web.post(f"{thread}/runs/{{run}}/pause", self._pause),
                web.post(f"{thread}/runs/{{run}}/resume", self._resume),
                web.get(f"{thread}/approvals", self._waiting),
                web.post(f"{thread}/approvals/{{approval}}", self._decide),
                web.post("/kill", self._kill),
            ]
        )
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        for _ in range(2):
            await web.TCPSite(runner, "127.0.0.1", 0).start()
        first, self.beside = (f"http://127.0.0.1:{address[1]}/api" for address in runner.addresses)
        try:
            yield first
        finally:
            for task in (*self.workers, *self.timers):
                task.cancel()
            await runner.cleanup()

    async def killed(self) -> None:
        """Break every connection and stop all work; then go on with what is stored."""
        for task in (*self.handlers, *self.workers):
            task.cancel()
        unfinished = [run for run in self.runs.values() if run.status in OPEN]
        for run in unfinished:
            self._broken_off(run)
        if self.has("a kill forgets keys"):
            self.keys.clear()
        if self.fault in ("a kill forgets approvals", "a kill forgets calls", "a kill forgets questions"):
            self.approvals.clear()
        for timer in self.timers if self.has("a kill forgets defaults") else ():
            timer.cancel()
        for run in self.runs.values():
            if run.is_edited and self.has("a kill forgets edits"):
                run.message, run.status = ASKED_TEXT, "queued"
                run.pieces.clear()
        for (owner, name), thread in self.threads.items():
            if self.has("a kill takes the last answer"):
                del thread.entries[-1:]
            if self.has("a kill doubles runs") and any(run in unfinished for run in thread.runs):
                thread.runs.append(self._new(owner, name, thread.runs[-1].message))
            self._work(thread)

    def _broken_off(self, run: Run) -> None:
        """Have a run as it is behind the kill."""
        if self.has("a kill ends runs") or (self.has("a kill empties queues") and run.status == "queued"):
            run.status = "failed"
        if self.has("a kill forgets messages that join"):
            run.words.clear()
        if self.has("a kill ends pauses"):
            run.is_paused = False
        if self.has("a kill begins long runs anew"):
            run.begun_anew = len(run.pieces)
        if self.has("a kill begins streams anew"):
            run.pieces.clear()
            run.attempt += 1  # another try of a model has other words

    @web.middleware
    async def _as_a_process(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        if request.path != "/kill":
            self.handlers.add(task)
            task.add_done_callback(self.handlers.discard)
        return await handler(request)

    def _new(self, owner: str, thread: str, message: str) -> Run:
        run = Run(owner, thread, message)
        self.runs[run.id] = run
        return run

    def _work(self, thread: Thread) -> None:
        worker = asyncio.ensure_future(self._worked(thread))
        self.workers.add(worker)
        worker.add_done_callback(self.workers.discard)

    async def _worked(self, thread: Thread) -> None:
        while queued := [run for run in thread.runs if run.status == "queued" or self._is_left(run)]:
            if self.has("runs come at once"):
                await asyncio.gather(*(self._do(thread, run) for run in reversed(queued)))
            else:
                await self._do(thread, queued[-1 if self.has("the newest run comes first") else 0])

    def _is_left(self, run: Run) -> bool:
        """Whether a process died over it: this one begins with it."""
        return run.status == "running"

    async def _do(self, thread: Thread, run: Run) -> None:
        run.status = "running"
        words = await self._words(run)
        for word in [*words, run.message][len(run.pieces) - run.begun_anew :]:
            if len(run.pieces) == LIMIT_PIECES and self.has("long runs end at the limit"):
                run.status = "failed"
                return
            await asyncio.sleep(PIECE_SECONDS if len(words) > 1 else 0)
            await until(lambda: not run.is_paused)
            if run.status == "cancelled" and not self.has("cancelling does nothing"):
                return
            run.pieces.append(word)
        if run.message.startswith(PAUSES):
            run.approval = uuid.uuid4().hex
            self.approvals[run.approval] = run
        if run.message.startswith("default") and not self.has("defaults never come"):
            self.start_timer(run)
        if self.has("runs bring their thread back"):
            self.threads.setdefault((run.owner, run.thread), thread)
        thread.entries += [("request", "".join([run.message, *run.words])), ("response", run.text)]
        run.status = "success"

    async def _words(self, run: Run) -> list[str]:
        """Return the pieces of the answer, but for the last one."""
        if run.message.startswith("slow"):
            return [f"{run.attempt}.{number} " for number in range(PIECES)]
        if run.message.startswith("long"):
            steps = [f"step-{number} " for number in range(1, PIECES + 1)]
            return [*steps[:2], steps[1], *steps[2:]] if self.has("long runs make a step twice") else steps
        if run.message.startswith("behalf"):
            await asyncio.sleep(PIECE_SECONDS)
            token = self.newest_token if self.has("tools get the newest token") else run.token
            return ["For nobody: " if self.has("tokens do not reach tools") else f"For {token.split('.')[1]}: "]
        return ["You wrote: "]

    def stored(self) -> str:
        """Return all that the service stores, as a text."""
        tokens = [run.token for run in self.runs.values() if self.has("tokens are stored")]
        return repr([tokens, *(thread.entries for thread in self.threads.values())])

    async def _agents(self, request: web.Request) -> web.Response:
        return web.json_response({"agents": [{"name": "a"}]})

    async def _run(self, request: web.Request) -> web.Response:
        body, owner, key = await request.json(), _owner(request), request.headers.get("idempotency-key", "")
        known, run_id = self.keys.get((owner, key), ("", ""))
        if run_id and known != body["message"] and not self.has("keys do not know their request"):
            return web.json_response({"code": "idempotency_key_reused"}, status=409)
        if run_id and not self.has("keys are forgotten"):
            run = self.runs[run_id]
        else:
            thread = self.threads.setdefault((owner, body["thread_id"]), Thread())
            thread.is_hidden = False
            if (
                "client_tools" in body
                and request.match_info["agent"] == "closed"
                and self._refuses(thread, body["message"])
            ):
                return web.json_response({"code": "invalid_input"}, status=400)
            run = self._new(owner, body["thread_id"], body["message"])
            run.is_beside = self._is_beside(request)
            run.token = self.newest_token = request.headers.get("authorization", "")
            at_work = [other for other in thread.runs if other.status in OPEN]
            if body.get("busy") == "steer" and at_work:
                run.status, run.joined = "joined", at_work[0].id
                place = 0 if self.has("messages that join change places") else len(at_work[0].words)
                at_work[0].words[place:place] = [] if self.has("messages that join are lost") else [run.message]
            else:
                thread.runs.append(run)
            if self.has("messages that join are runs too") and run.joined:
                thread.runs.append(self._new(owner, body["thread_id"], run.message))
            if run.is_beside and self.has("processes keep an order each"):
                await self._do(thread, run)
            elif not at_work:
                self._work(thread)
        if self.has("keys are stored behind the run"):
            await until(lambda: run.status not in OPEN)
        if key:
            self.keys[owner, key] = (body["message"], run.id)
        if body.get("wait_for_response", True):
            ends_with_it = self.has("a broken connection ends its run")
            await until(lambda: run.status not in OPEN or (ends_with_it and request.transport is None))
            run.status = "cancelled" if request.transport is None and ends_with_it else run.status
        return self._shown(run)

    def _progress(self, run: Run) -> dict[str, Any]:
        share = len(run.pieces) / (PIECES + 1)
        return {"progress": {"share": 1 - share if self.has("progress falls") else share}}

    async def _pause(self, request: web.Request) -> web.Response:
        run = self._found(request, changes=True)
        run.is_paused = run.status in OPEN and not self.has("pausing does nothing")
        return web.json_response({}, status=202)

    async def _resume(self, request: web.Request) -> web.Response:
        run = self._found(request, changes=True)
        if run.is_paused and self.has("resuming begins anew"):
            run.pieces += run.pieces
        run.is_paused = False
        return web.json_response({}, status=202)

    def _refuses(self, thread: Thread, message: str) -> bool:
        """Whether a tool of the caller is refused, which is to leave nothing of its message."""
        if self.has("a refused tool leaves its message"):
            thread.entries.append(("request", message))
        return not self.has("every agent takes tools")

    def _shown(self, run: Run) -> web.Response:
        waiting = [{"id": run.approval}] if run.approval in self.approvals else []
        joined = {"joined": run.joined} if run.joined else {}
        status = "paused" if run.is_paused else run.status
        shown = {**joined, "thread_id": run.thread, "run_id": run.id, "status": status, "response": run.text}
        shown |= self._progress(run)
        return web.json_response(
            {**shown, "error": "", "pending_approvals": waiting}, status=202 if run.status in OPEN else 200
        )

    async def _status(self, request: web.Request) -> web.Response:
        return self._shown(self._found(request))

    async def _runs(self, request: web.Request) -> web.Response:
        thread = self._thread(request)
        return web.json_response({"runs": [{"run_id": run.id} for run in thread.runs] if thread else []})

    def _found(self, request: web.Request, changes: bool = False) -> Run:
        run = self.runs.get(request.match_info["run"])
        is_open = self.has("owners change all") if changes else self.has("owners read all")
        if run is None or not (run.owner == _owner(request) or is_open):
            raise web.HTTPNotFound
        return run

    def _thread(self, request: web.Request) -> Thread | None:
        name = request.match_info["thread"]
        if self.has("owners read all"):
            return next((thread for (_, known), thread in self.threads.items() if known == name), None)
        return self.threads.get((_owner(request), name))

    async def _messages(self, request: web.Request) -> web.Response:
        thread = self._thread(request)
        if thread is None or thread.is_hidden:
            raise web.HTTPNotFound
        return web.json_response({"entries": [_entry(kind, text) for kind, text in thread.entries]})

    async def _export(self, request: web.Request) -> web.Response:
        version = "" if self.has("state has no version") else "1.0.0"
        token = self.newest_token if self.has("tokens are shown") else ""
        return web.json_response({"conversation": {"schemaVersion": version, "token": token}})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        run = self._found(request)
        sent = int(request.headers.get("last-event-id", "0"))
        if sent and self.has("resuming leaves a piece out"):
            sent += 1
        is_told_all = self.has("resuming sends all again")
        answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await answer.prepare(request)
        if run.is_beside != self._is_beside(request) and self.has("processes know their own streams alone"):
            return answer
        if run.status not in OPEN and self.has("streams are gone with their run"):
            return answer
        if run.status not in OPEN and self.has("streams end again and again"):
            sent = min(sent, len(run.pieces) - 1)
        pieces = iter(range(0 if is_told_all else sent, PIECES + 1))
        for number in pieces:
            await until(lambda number=number: len(run.pieces) > number or run.status not in OPEN)  # type: ignore[misc]
            if len(run.pieces) <= number:
                break
            offset = "" if is_told_all else f', "offset": {len("".join(run.pieces[:number]))}'
            data = f'{{"text": "{run.pieces[number]}"{offset}}}'
            await answer.write(f"id: {number + 1}\nevent: delta\ndata: {data}\n\n".encode())
        return answer

    async def _cancel(self, request: web.Request) -> web.Response:
        run = self._found(request, changes=True)
        is_queued = run.status == "queued" and self.has("cancelling does not reach the queue")
        if (run.status in OPEN and not is_queued) or self.has("cancelling reaches ended runs"):
            run.status = "running" if self.has("cancelling does nothing") else "cancelled"
        return web.json_response({}, status=202)

    async def _delete(self, request: web.Request) -> web.Response:
        owner, name = _owner(request), request.match_info["thread"]
        if self.has("owners change all"):
            self.threads = {key: thread for key, thread in self.threads.items() if key[1] != name}
        thread = self.threads.get((owner, name))
        if thread is None:
            return web.Response(status=204)
        for run in thread.runs:
            if not self.has("runs bring their thread back"):
                run.status = "cancelled"
            if not self.has("deleting keeps the runs"):
                self.runs.pop(run.id)
        if self.has("deleting hides"):
            thread.is_hidden = True
        elif not self.has("deleting keeps the conversation"):
            del self.threads[owner, name]
        return web.Response(status=204)

    async def _kill(self, request: web.Request) -> web.Response:
        await self.killed()
        return web.Response(status=204)


def _owner(request: web.Request) -> str:
    return request.headers.get("x-user", "")


def _entry(kind: str, text: str) -> dict[str, Any]:
    return {"type": kind, "messages": [{"role": "user", "contents": [{"$type": "text", "text": text}]}]}
