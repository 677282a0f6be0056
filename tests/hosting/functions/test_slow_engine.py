"""An engine that takes its time, or whose answers are lost: what callers are told, and what counts all the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

import azure.functions as func
import pytest
from azure.durable_functions import OrchestrationRuntimeStatus

from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of

GUARD_SECONDS = 5.0
T = TypeVar("T")


@dataclass(frozen=True)
class Status:
    """How an instance stands, as the SDK has it."""

    runtime_status: OrchestrationRuntimeStatus | None
    output: Any = None
    custom_status: Any = None


class Deaf:
    """The SDK's client for orchestrations, whose first answers are lost: so many calls of each name fail.

    One that is started is there, and has ended, whether or not that was answered. One that `is_away` starts nothing.
    """

    def __init__(self, lost: dict[str, int], *, is_away: bool = False) -> None:
        self.started = list[str]()
        self._is_away = is_away
        self._lost = dict(lost)

    async def start_new(self, name: str, instance_id: str, given: object) -> str:
        """Start one."""
        if not self._is_away:
            self.started.append(instance_id)
        return self._answered("start", instance_id)

    async def get_status(self, instance_id: str) -> Status:
        """Return how one stands."""
        ended = Status(OrchestrationRuntimeStatus.Completed, "done")
        return self._answered("status", ended if instance_id in self.started else Status(None))

    def _answered(self, call: str, answer: T) -> T:
        self._lost[call] = self._lost.get(call, 0) - 1
        if self._lost[call] >= 0:
            raise ConnectionResetError
        return answer


async def asked(sdk: Any, *, wait_seconds: float = GUARD_SECONDS) -> tuple[int, str]:
    """Have an app start an orchestration for a request; return the status and the body of its answer."""
    app = app_of(scripted_agent("Joker"))
    request = func.HttpRequest("POST", "http://app.example/api/ask", body=b"")
    answer = await app.run_orchestration(request, sdk, "ask", wait_seconds=wait_seconds)
    return answer.status_code, answer.get_body().decode()


@pytest.mark.behaviour("service.late-answers")
@pytest.mark.parametrize("lost", [{"start": 1}, {"status": 1}, {"status": 2}])
async def test_an_orchestration_that_was_started_is_answered_whatever_answer_was_lost(lost: dict[str, int]) -> None:
    sdk = Deaf(lost)

    assert await asked(sdk) == (200, '"done"')
    assert len(sdk.started) == 1


@pytest.mark.behaviour("service.late-answers")
async def test_an_orchestration_of_which_nobody_can_tell_is_answered_with_its_place() -> None:
    status, body = await asked(Deaf({"status": 1}), wait_seconds=0.0)

    assert (status, json.loads(body)["status"]) == (202, "Pending")


@pytest.mark.behaviour("service.late-answers")
async def test_an_orchestration_that_was_not_started_is_refused() -> None:
    status, body = await asked(Deaf({"start": 1}, is_away=True))

    assert (status, json.loads(body)["code"]) == (503, "engine_unavailable")
