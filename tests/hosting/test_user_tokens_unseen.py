"""No token is where people look: spans with all contents, logs with the locals of every frame, texts of objects."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import Agent, tool
from agent_framework.observability import OBSERVABILITY_SETTINGS, ChatTelemetryLayer

from hosting.principal import Principal, PrincipalRequest, PrincipalResolver, easy_auth
from hosting.tools import current
from hosting.user_tokens import OnBehalfOf, UserToken, UserTokenError, on_behalf_of
from tests.support.clerk import ClerksClient
from tests.support.exported_spans import Exported
from tests.support.identity_provider import GRAPH, IdentityProvider
from tests.support.mailer import SIGN_IN, bearer, by_bearer, by_platform, mailer, of_platform
from tests.support.owned_app import RUN, OwnedApp

pytestmark = pytest.mark.behaviour("user-tokens.unseen")

BODY = {"message": "call other https://graph.example, once 2, careless 3, mail 4", "thread_id": "t"}
LEFT = "a local that shows that locals are seen"


class WithLocals(logging.Handler):
    """Keeps what a handler writes that shows the locals of each frame, as rich's and error trackers do."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record with its tracebacks."""
        self.lines.append(record.getMessage())
        if record.exc_info and record.exc_info[0] is not None:
            whole = traceback.TracebackException(*record.exc_info, capture_locals=True)
            self.lines += whole.format()


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """All that any library logs, with the locals of its tracebacks."""
    root, handler, level = logging.getLogger(), WithLocals(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.lines
    root.removeHandler(handler)
    root.setLevel(level)
    try:
        seen = LEFT  # noqa: F841 - a local for the handler
        raise ValueError
    except ValueError:
        handler.emit(logging.LogRecord("test", logging.DEBUG, "", 0, "", (), sys.exc_info()))
    assert LEFT in "".join(handler.lines)


class Traced(ChatTelemetryLayer[Any], ClerksClient):
    """The clerk's model with the framework's telemetry."""


async def test_no_span_has_a_token_though_it_has_all_contents(
    provider: IdentityProvider, spans: Exported, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, attributes, events, status and resource of each; the arguments and results of tools are there."""
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_instrumentation", True)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_sensitive_data", True)
    app = OwnedApp(by_platform(provider), agent=mailer(provider, [], Traced()))
    provider.seconds = 3_600
    answered = [await app.ask(None, "POST", RUN, headers=of_platform(provider.token()), json=BODY)]
    provider.spoil = lambda answer: {"error": "invalid_grant", "error_description": str(answer)}
    answered.append(await app.ask(None, "POST", RUN, headers=of_platform(provider.token()), json=BODY))
    await app.stored()

    exported = "".join(span.to_json() for span in spans.get_finished_spans())

    assert [answer.status_code for answer in answered] == [200, 200]
    assert "execute_tool careless" in exported
    assert "<UserToken of the user>" in exported
    assert provider.canary not in exported
    assert provider.canary not in "".join(lines)


def raising(n: str) -> Agent[Any]:
    """Return an agent whose tool lets the error of its token through, and leaves all other tokens to their fate."""

    @tool
    async def ask(n: str) -> str:
        token = await current().user_token(GRAPH)
        return repr(token) + n

    return Agent(ClerksClient(), name="Clerk", tools=[ask])


SPOILT: dict[str, Any] = {
    "no answer": None,
    "500": 500,
    "garbage": b"\xff\xfe",
    "nothing": {},
    "of nobody": {"token_type": "Bearer", "access_token": "x", "expires_in": 60},
}


@pytest.mark.parametrize("case", SPOILT)
@pytest.mark.parametrize("is_platform", [False, True])
async def test_no_traceback_has_a_token_in_its_locals(
    provider: IdentityProvider, lines: list[str], case: str, *, is_platform: bool
) -> None:
    """Where the provider's answer gives none, and the error goes through the tool into the log."""
    app = OwnedApp((by_platform if is_platform else by_bearer)(provider), agent=raising("x"))
    provider.spoil = lambda answer: SPOILT[case] if SPOILT[case] != {} else {"note": answer.get("access_token")}
    token = provider.token()

    await app.ask(None, "POST", RUN, headers=of_platform(token) if is_platform else bearer(token), json=BODY_OF_ASK)

    written = "".join(lines)
    assert "Tool ask of run" in written
    assert "user_tokens.py" in written
    assert provider.canary not in written


BODY_OF_ASK = {"message": "call ask 1"}


class Careless:
    """An exchange of the app's own whose errors have the caller's token."""

    sign_in = ("Here", SIGN_IN)

    def __init__(self, *, fails_at_once: bool) -> None:
        self._fails_at_once = fails_at_once

    def lasts_until(self, token: str, principal: Principal, now: float) -> float:
        """Raise an error with the token."""
        if self._fails_at_once:
            raise RuntimeError(token)
        return now + 1_000

    def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
        """Raise an error with the token."""
        raise RuntimeError(token)

    def of_app(self, scope: str) -> UserToken:
        """Raise."""
        raise AssertionError


@pytest.mark.parametrize("fails_at_once", [False, True])
async def test_an_exchange_that_raises_the_token_shows_it_to_nobody(
    provider: IdentityProvider, lines: list[str], *, fails_at_once: bool
) -> None:
    """The log has the class of the error, and the tool a sentence of ours."""
    resolver = easy_auth({"WEBSITE_AUTH_ENABLED": "True"})
    app = OwnedApp(on_behalf_of(resolver, Careless(fails_at_once=fails_at_once)), agent=mailer(provider, []))

    answer = await app.ask(None, "POST", RUN, headers=of_platform(provider.token()), json={"message": "call once 1"})

    assert answer.json()["response"].endswith(f"not sent: {'absent' if fails_at_once else 'unavailable'}")
    assert any("RuntimeError" in line for line in lines)
    assert provider.canary not in "".join((answer.text, *lines))


async def test_a_defect_of_the_resolver_shows_no_token(provider: IdentityProvider, lines: list[str]) -> None:
    """Its request is in the locals of the frames, and answers 500."""

    def broken(request: PrincipalRequest) -> Principal | None:
        raise RuntimeError("a defect")

    resolver: PrincipalResolver = on_behalf_of(broken, Careless(fails_at_once=False), header="authorization")
    app = OwnedApp(resolver, agent=mailer(provider, []))

    answer = await app.ask(None, "POST", RUN, headers=bearer(provider.token()), json={"message": "hello"})

    assert answer.status_code == 500
    ours = [line for line in lines if "a defect" in line or "/hosting/" in line]
    assert ours
    assert [line for part in ours for line in part.splitlines() if provider.canary in line] == []


async def test_no_object_that_code_can_reach_has_a_token_in_its_text(provider: IdentityProvider) -> None:
    """All context variables of a tool, and the parts of a sign-in."""
    seen: list[str] = []
    tokens = by_bearer(provider)

    @tool
    async def ask(n: str) -> str:
        token = await current().user_token(GRAPH)
        values = [value for _, value in contextvars.copy_context().items()]
        seen.extend(repr(each) for each in (values, current(), token, tokens, tokens.exchange, vars(tokens)))
        seen.append(repr(asyncio.all_tasks()))
        return n

    app = OwnedApp(tokens, agent=Agent(ClerksClient(), name="Clerk", tools=[ask]))
    await app.ask(None, "POST", RUN, headers=bearer(provider.token()), json=BODY_OF_ASK)
    request = PrincipalRequest({"authorization": provider.token()}, "POST /run")
    seen.append(repr(request))

    assert len(seen) == 8
    assert not [text for text in seen if provider.canary in text]


async def test_an_error_of_an_exchange_has_no_frame_of_it() -> None:
    """Neither its own nor that of what it came from."""

    def fails() -> UserToken:
        try:
            raise ValueError("inner")
        except ValueError:
            raise UserTokenError("refused", "No.") from None

    class Failing(Careless):
        def of_app(self, scope: str) -> UserToken:
            return fails()

    tokens = OnBehalfOf(lambda request: None, Failing(fails_at_once=False), "x-token")
    with pytest.raises(UserTokenError) as refused:
        await tokens.of_app("a")

    names = [frame.name for frame in traceback.extract_tb(refused.value.__traceback__)]
    assert ("fails" in names, refused.value.__context__, refused.value.__cause__) == (False, None, None)
    assert refused.value.reason == "refused"
