"""An app whose agent asks its model by a real client, over that provider's own wire; answers end as a test says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from hosting.app import AgentFunctionApp
from tests.fidelity.chat_completions import ChatCompletions
from tests.fidelity.features import DIMENSIONS, Setting, agent_of, new_setting, row
from tests.fidelity.script import Answer
from tests.fidelity.strict_model import StrictModel
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY

CLIENTS = DIMENSIONS["client"]
HALF = "half a senten"
RUN = "/api/agents/a/run"
THREAD = "/api/agents/a/threads/t"
CUT = Answer(HALF, is_cut=True)


class Finishing:
    """The app, and `model`, which answers by the script of `begin_turn`."""

    def __init__(self, client: str = "chat completions", environ: Mapping[str, str] | None = None, **app: Any) -> None:
        choices = {name: app.pop(name) for name in tuple(app) if name in DIMENSIONS}
        self.setting: Setting = new_setting(row(client=client, **choices))
        self.environ = {**MEMORY, **(environ or {})}
        self._app = app
        self.host = self.process()

    @property
    def model(self) -> StrictModel:
        """The model's server."""
        return self.setting.model

    def process(self) -> DirectHost:
        """Return another process of the app."""
        return DirectHost(AgentFunctionApp(agents=[agent_of(self.setting)], environ=self.environ, **self._app))

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Return the app's answer to one request."""
        transport = httpx.ASGITransport(self.host.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=None) as http:
            return await http.request(method, path, json=body, headers=headers)

    async def ask(self, *answers: Answer, thread_id: str = "t", accept: str = "*/*", **fields: Any) -> httpx.Response:
        """Return the answer of a run whose model answers so."""
        self.model.begin_turn(answers)
        body = {"message": "Tell me.", "thread_id": thread_id, **fields}
        return await self.send("POST", RUN, body, accept=accept)


class Refusing(ChatCompletions):
    """Refuses to answer, as OpenAI's models do, in a member of its own."""

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        body = super().reply(answer, number)
        message = body["choices"][0]["message"]
        message |= {"refusal": message["content"], "content": None}
        return body

    def events(self, answer: Answer, number: int) -> list[str]:
        return [chunk.replace('"content"', '"refusal"') for chunk in super().events(answer, number)]


def last_event(stream: str) -> dict[str, Any]:
    """Return the data of the last event of a stream."""
    data = stream.strip().split("\n\n")[-1].split("data: ", 1)[1]
    event: dict[str, Any] = json.loads(data)
    return event
