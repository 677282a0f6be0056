"""A tool that asks a person: its questions, their answers, and the steps before them that are not made again.

A sign-in that it needs of the user goes the same way. It is known by its user, service and scopes, not by its number: a
call that is made again may find the token at once, and then asks no more for it.

Theory. A question ends the run as an approval does, by the framework's own request: the person's answer is the approval
of the call, and the run that goes on makes the call again from its beginning. The n-th question of the call then has
its recorded answer. So the tool must be one that may be called again; what may not be done twice is a step of the call,
which is recorded once. Answers and steps go with the framework's request, from each run to the next.

Whatever pauses the call goes past the tool's own `except Exception`. Where the tool catches even that, its result is
dropped: the call has asked.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from agent_framework import Content, FunctionInvocationContext
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from hosting.authorizations import Authorization
from hosting.core.agent.calls_not_made import diverged
from hosting.core.agent.framework import is_idempotent
from hosting.core.agent.recorded import ReplayedToolError, digest
from hosting.core.agent.step_recorder import StepRecorder, cut_short
from hosting.core.request.response_format import CHECK_SECONDS
from hosting.core.thread.events import ToolResult, ToolStarted
from hosting.core.thread.messages import ASKED
from hosting.core.thread.run_request import json_member
from hosting.errors import InvalidInputError, RunFailedError
from hosting.names import STEP
from hosting.principal import owner_of
from hosting.tools import NO_DEFAULT, CallPausedError, StepCutOffError, ToolCall, enter, leave
from state.portable import portable_text

_MOST_SECONDS = 31_536_000
MOST_QUESTIONS = 20
"""Of one call: a tool in a loop would ask for ever."""
_LONGEST_QUESTION = 2_000


class CallAsks:
    """The questions and steps of one tool call in one attempt. `request` is the framework's, once the call has asked.
    It `is_over` once the call's own code has ended, whatever that left at work.

    `within` is the key of the call that runs the tool's agent, empty for the agent that runs.
    """

    def __init__(self, recorder: StepRecorder, context: FunctionInvocationContext, key: str, within: str) -> None:
        self.request: Content | None = None
        self.is_over = False
        self._recorder = recorder
        self._context = context
        self._key = key
        self._within = within
        approval = context.metadata.get("approval_response")
        properties = {} if approval is None else approval.additional_properties
        known = properties.get(ASKED) or {}
        self._answers: list[dict[str, Any]] = list(known.get("answers") or ())
        self._steps: dict[str, Any] = dict(known.get("steps") or {})
        self._grants: list[str] = list(known.get("grants") or ())
        self._asked = 0
        self._sign_ins: Counter[str] = Counter()

    @property
    def may_pause(self) -> bool:
        """Whether the tool may be called again, and is the agent's own."""
        return is_idempotent(self._context.function) and not self._within

    async def ask(self, question: str, schema: Any, seconds: float | None, default: Any) -> Any:
        """Return the recorded answer to the call's next question, or pause the call."""
        if not question.strip() or len(question) > _LONGEST_QUESTION:
            self._end(f"asks with {len(question)} characters. Ask with 1 to {_LONGEST_QUESTION}.")
        if seconds is None and default is not NO_DEFAULT:
            self._end("asks with a default, and not for how long. Give 'seconds' too.")
        self._check(seconds, self._asked)
        self._asked += 1
        adapter = None if isinstance(schema, Mapping) else TypeAdapter(schema)
        form: dict[str, Any] = dict(schema) if isinstance(schema, Mapping) else _schema_of(adapter)
        identity = digest([question, form])
        if self._asked > len(self._answers):
            deadline = await self._deadline(question, form, adapter, seconds, default)
            asked = {"question": portable_text(question), "schema": form, "digest": identity, **deadline}
            self._pause(self._asked, asked)
        answer = self._answers[self._asked - 1]
        if answer["digest"] != identity:
            raise self._recorder.ended(diverged(f"question {self._asked} of tool {self._context.function.name!r}"))
        value = json.loads(answer["value"])
        if (fault := await asyncio.to_thread(_fault, form, value)) is not None:
            raise self._recorder.ended(InvalidInputError(f"The answer to {question[:200]!r} does not fit: {fault}."))
        return value if adapter is None else adapter.validate_python(value)

    async def authorization(
        self, service: str, url: str, scopes: Iterable[str], seconds: float | None, claims: str | None = None
    ) -> None:
        """Return if the user has made this sign-in for the call, or pause the call."""
        self._check(seconds, self._sign_ins.total())
        try:
            wanted = Authorization.of(service, url, scopes, claims)
        except ValueError as error:
            self._end(f"asks for a sign-in that nobody can make. {error}")
        identity = digest([wanted.service, sorted(wanted.scopes), owner_of(self._recorder.held.run.accepted.principal)])
        self._sign_ins[identity] += 1
        if (number := self._sign_ins[identity]) > self._grants.count(identity):
            deadline = {} if seconds is None else {"seconds": float(seconds)}
            self._pause((identity, number), {"authorization": wanted.shown(), "digest": identity, **deadline})

    def _check(self, seconds: float | None, asked: int) -> None:
        """End the run where the tool may not ask any more, or not so long."""
        if not is_idempotent(self._context.function):
            self._end(
                "asks a person, so it is called again after the answer. Mark it @idempotent, and put what must not be "
                "done twice into 'await current().step(...)'."
            )
        if self._within:
            self._end("asks a person within another agent's call. Only a tool of the agent itself may.")
        if asked >= MOST_QUESTIONS:
            self._end(f"asks more than {MOST_QUESTIONS} questions in one call. Ask for more at once.")
        if seconds is not None and not 0 < seconds <= _MOST_SECONDS:
            self._end(f"asks for {seconds:g} seconds. Ask for more than 0, and at most {_MOST_SECONDS}.")

    def _end(self, why: str) -> NoReturn:
        raise self._recorder.ended(RunFailedError(f"Tool {self._context.function.name!r} {why}"))

    async def _deadline(
        self,
        question: str,
        schema: dict[str, Any],
        adapter: TypeAdapter[Any] | None,
        seconds: float | None,
        default: Any,
    ) -> dict[str, Any]:
        """Return until when the question waits, and its answer then; end the run by a default that is no answer."""
        if seconds is None:
            return {}
        if default is NO_DEFAULT:
            return {"seconds": float(seconds)}
        value = (
            to_jsonable_python(default)
            if adapter is None
            else adapter.dump_python(default, mode="json", warnings=False)
        )
        if (fault := await asyncio.to_thread(_fault, schema, value)) is not None:
            why = f"The default of {question[:200]!r} does not fit: {fault}. Give one of the question's schema."
            raise self._recorder.ended(RunFailedError(why))
        return {"seconds": float(seconds), "default": json_member(value)}

    def _pause(self, number: Hashable, asked: Mapping[str, Any]) -> NoReturn:
        """Make the framework's request of the question of that number, and leave the tool."""
        metadata, name = self._context.metadata, self._context.function.name
        call_id, occurrence = str(metadata.get("call_id")), metadata.get("function_call_occurrence_id")
        if (call_id, occurrence, number) in self._recorder.questions:
            raise self._recorder.ended(
                RunFailedError(
                    f"A rule of the agent approved the question of tool {name!r}, and no rule can answer it. Withdraw "
                    "the standing approval of the tool, or leave the tool out of the agent's auto_approval_rules."
                )
            )
        self._recorder.questions.add((call_id, occurrence, number))
        approval = metadata.get("approval_response")
        call = None if approval is None else approval.function_call
        if call is None:
            arguments = json.dumps(to_jsonable_python(self._context.arguments, fallback=str), ensure_ascii=False)
            call = Content.from_function_call(call_id, name, arguments=arguments, id=occurrence)
        kept = {"answers": self._answers, "grants": self._grants, "steps": self._steps}
        self.request = Content.from_function_approval_request(
            id=occurrence or call_id, function_call=call, additional_properties={ASKED: {**asked, **kept}}
        )
        raise CallPausedError

    async def step(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], call: ToolCall) -> Any:
        """Return the function's result as JSON values, recorded once; see `ToolCall.step`."""
        recorder, held, key = self._recorder, self._recorder.held, f"{STEP}{self._key}/{name}"
        identity = digest([name, to_jsonable_python(arguments, fallback=str)])
        known = self._steps.get(name)
        started, result = held.started.get(key), held.results.get(key)
        recorded = known["digest"] if known else started.digest if started else identity
        if recorded != identity:
            raise recorder.ended(diverged(f"step {name!r} of tool {self._context.function.name!r}"))
        if known is None and result is None and started is not None and not is_idempotent(function):
            result = await cut_short(recorder, key, f"{self._context.function.name}: {name}")
            if not recorder.reports_unknown_outcomes:
                raise recorder.ended(recorder.cause or RunFailedError("The attempt is over."))
        if known is None and result is None:
            began = ToolStarted(at=held.clocks.wall(), run_id=held.run_id, key=key, name=name, digest=identity)
            await recorder.start(began)
            result = await self._made(key, function, arguments, call)
        if known is None:
            assert result is not None
            known = self._steps[name] = {"digest": identity, **_outcome(result)}
        if known.get("cut_off"):
            raise StepCutOffError(f"The process ended while step {name!r} was running. It may have done its work.")
        if "error" in known:
            raise ReplayedToolError(known["error"])
        return json.loads(known["value"])

    async def _made(self, key: str, function: Callable[..., Any], arguments: tuple[Any, ...], call: ToolCall) -> Any:
        """Run the function and append what came of it; return that."""
        held = self._recorder.held
        token = enter(replace(call, call_key=f"{held.run_id}-{key}", pauses=None))
        try:
            is_async = inspect.iscoroutinefunction(function)
            value = await (function(*arguments) if is_async else asyncio.to_thread(function, *arguments))
            fields: dict[str, Any] = {"text": json_member(value)}
        except Exception as error:
            fields = {"error": portable_text(str(error)), "raised": type(error).__name__}
        finally:
            leave(token)
        result = ToolResult(at=held.clocks.wall(), run_id=held.run_id, key=key, **fields)
        await self._recorder.append(result)
        return result


def _outcome(result: ToolResult) -> dict[str, Any]:
    if result.interrupted:
        return {"cut_off": True}
    return {"value": result.text} if result.error is None else {"error": result.error}


def _schema_of(adapter: TypeAdapter[Any] | None) -> dict[str, Any]:
    assert adapter is not None
    return adapter.json_schema(ref_template="#/$defs/{model}")


def _fault(schema: dict[str, Any], value: Any) -> str | None:
    """Return why an answer does not fit, which came by an orchestration that checks none; None if it fits."""
    from hosting.strict_json.json_schema import UncheckableError, value_fault

    try:
        return value_fault(schema, value, CHECK_SECONDS)
    except UncheckableError as error:
        return str(error)


Pausing = Callable[[], Awaitable[None]]


async def paused(make_call: Pausing, asks: CallAsks) -> bool:
    """Make the call; return whether it asks a person, whatever its code made of that."""
    try:
        await make_call()
    except CallPausedError:
        pass
    except Exception:
        if asks.request is None:
            raise
    return asks.request is not None
