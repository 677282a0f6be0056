"""Runs the cases of an evaluation on an agent, and has agent-framework's evaluators judge the answers.

Theory. Each run has a key and a thread that follow from the evaluation's id, the case and the repetition. So an
evaluation that is begun again with its id finds the runs that it had begun, and no case is run or counted twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from agent_framework import AgentResponse, AgentSession, EvalResults, LocalEvaluator, evaluate_agent
from msgspec import Struct

from hosting.client.connection import RemoteAgentError
from hosting.client.remote_agent import RemoteAgent
from hosting.errors import HostingError
from hosting.evaluation.cases import Case, Evaluation


class Check(Struct, frozen=True):
    """What one check, or one evaluator, says of an answer."""

    name: str
    passed: bool
    reason: str = ""


class CaseResult(Struct, frozen=True):
    """One run of a case: its checks, or without an answer the `error`. `seconds` is how long the run took."""

    name: str
    thread_id: str
    checks: tuple[Check, ...] = ()
    answer: str = ""
    error: str = ""
    tokens: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether there is an answer, and every check of it passed."""
        return not self.error and bool(self.checks) and all(check.passed for check in self.checks)


class EvaluationResult(Struct, frozen=True):
    """The runs, one repetition of all cases after the other, and the evaluators that judge all answers together."""

    agent: str
    cases: tuple[CaseResult, ...]
    together: tuple[Check, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every case and every evaluator passed."""
        return all(case.passed for case in self.cases) and all(check.passed for check in self.together)


class _Run(Struct, frozen=True):
    """A case that was run: the response, or the error."""

    case: Case
    name: str
    thread_id: str
    response: AgentResponse[Any] | None
    error: str
    seconds: float


async def evaluate(
    agent: RemoteAgent, evaluation: Evaluation, evaluation_id: str, *, repetitions: int = 1, parallel: int = 1
) -> EvaluationResult:
    """Run each case `repetitions` times, at most `parallel` at once, and return what became of each."""
    turn = asyncio.Semaphore(parallel)

    async def run(case: Case, repetition: int) -> _Run:
        async with turn:
            return await _run(agent, case, evaluation_id, repetition if repetitions > 1 else 0)

    rounds = [(case, number) for number in range(1, repetitions + 1) for case in evaluation.cases]
    runs = await asyncio.gather(*(run(case, number) for case, number in rounds))
    own = [evaluator for evaluator in evaluation.evaluators if _is_local(evaluator)]
    others = [evaluator for evaluator in evaluation.evaluators if not _is_local(evaluator)]
    cases = [await _judged(agent, run, own, is_judged_later=bool(others)) for run in runs]
    return EvaluationResult(agent.id, tuple(cases), tuple(await _together(agent, runs, others)))


def _is_local(evaluator: Any) -> bool:
    """Return whether it judges each answer by itself: a check, or agent-framework's local evaluator."""
    return isinstance(evaluator, LocalEvaluator) or not hasattr(evaluator, "evaluate")


async def _run(agent: RemoteAgent, case: Case, evaluation_id: str, repetition: int) -> _Run:
    texts = "\0".join(f"{message.role} {message.text}" for message in case.asked())
    place = sha256(f"{evaluation_id}\0{agent.id}\0{case.name}\0{texts}\0{repetition}".encode()).hexdigest()[:24]
    thread_id = f"evaluation-{place}"
    name = f"{case.name} #{repetition}" if repetition else case.name
    start, response, error = time.monotonic(), None, ""
    try:
        session = AgentSession(session_id=thread_id)
        response = await agent.run(case.asked(), session=session, idempotency_key=thread_id)
    except (RemoteAgentError, HostingError) as refusal:
        error = refusal.detail
    return _Run(case, name, thread_id, response, error, time.monotonic() - start)


async def _judged(agent: RemoteAgent, run: _Run, evaluators: Sequence[Any], *, is_judged_later: bool) -> CaseResult:
    """Return the result of one run, by the case's own checks and by those of all cases."""
    if run.response is None:
        return CaseResult(run.name, run.thread_id, error=run.error, seconds=run.seconds)
    checks = run.case.checks()
    results: list[EvalResults] = []
    if checks or evaluators:
        results = await _results(agent, [run], [*([LocalEvaluator(*checks)] if checks else ()), *evaluators])
    scores = [score for result in results for item in result.items for score in item.scores]
    judged = [Check(score.name, bool(score.passed), str((score.sample or {}).get("reason", ""))) for score in scores]
    if not judged and is_judged_later:
        judged = [Check("answered", True)]
    tokens = (run.response.usage_details or {}).get("total_token_count") or 0
    return CaseResult(run.name, run.thread_id, tuple(judged), run.response.text, "", tokens, run.seconds)


async def _together(agent: RemoteAgent, runs: Sequence[_Run], evaluators: Sequence[Any]) -> list[Check]:
    """Return what the evaluators say that judge all answers together, such as those of a service."""
    answered = [run for run in runs if run.response is not None]
    if not (evaluators and answered):
        return []
    results = await _results(agent, answered, evaluators)
    return [
        Check(result.provider, result.all_passed, result.error or f"{result.passed} of {result.total} passed")
        for result in results
    ]


async def _results(agent: RemoteAgent, runs: Sequence[_Run], evaluators: Sequence[Any]) -> list[EvalResults]:
    return await evaluate_agent(
        agent=agent,
        queries=[run.case.query for run in runs],
        responses=[run.response for run in runs if run.response is not None],
        expected_output=[run.case.expected_output or "" for run in runs],
        expected_tool_calls=[run.case.calls() for run in runs],
        evaluators=list(evaluators),
    )
