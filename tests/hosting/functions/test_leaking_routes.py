"""Routes that answer with the engine's own URLs, which hold a key: named at start-up, however they come to them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import azure.durable_functions as df
import azure.functions as func
import pytest

from hosting.functions.orchestrations import warn_of_management_urls

Handler = Callable[[Any, Any], Any]


def answered(req: Any, client: Any) -> Any:
    """Answer as the SDK's samples do."""
    return client.create_check_status_response(req, "id")


def by_way_of_another(req: Any, client: Any) -> Any:
    """Answer one call further away."""
    return answered(req, client)


def in_a_circle(req: Any, client: Any) -> Any:
    """Call itself, and nothing that tells."""
    return in_a_circle(req, client)


class Answers:
    """A place for functions."""

    @staticmethod
    def plain(req: Any, client: Any) -> Any:
        """Tell nothing."""
        return str(req)

    @classmethod
    def told(cls, req: Any, client: Any) -> Any:
        """Answer with the URLs as values."""
        return client.create_http_management_payload("id")


helpers = types.ModuleType("helpers")
helpers.reply = answered  # type: ignore[attr-defined]


def by_its_name(req: Any, client: Any) -> Any:
    """Ask for the method by a text."""
    return getattr(client, "create_check_status_response")(req, "id")  # noqa: B009


def by_a_helper(req: Any, client: Any) -> Any:
    """Call a function that calls one."""
    return by_way_of_another(req, client)


def decorated(handler: Handler) -> Handler:
    """Wrap as a decorator of the app's does, without a trace of what it wraps."""

    def wrapping(req: Any, client: Any) -> Any:
        return handler(req, client)

    return wrapping


def harmless(req: Any, client: Any) -> Any:
    """Call much, and tell nothing."""
    return Answers.plain(in_a_circle(req, client), client)


def warnings_of(handler: Handler, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what is said of an app with the handler behind a route."""
    app = df.DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)

    @functools.wraps(handler)
    def told(req: func.HttpRequest, client: Any) -> Any:
        return handler(req, client)

    told.__annotations__ = {"req": func.HttpRequest}
    app.route(route="told")(app.durable_client_input(client_name="client")(told))
    warn_of_management_urls(app.get_functions())
    return capsys.readouterr().err.splitlines()


@pytest.mark.behaviour("owners.orchestration-state")
@pytest.mark.parametrize("handler", [by_its_name, by_a_helper, decorated(answered)])
def test_a_route_is_named_wherever_in_the_app_the_urls_are_made(
    handler: Handler, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = warnings_of(handler, capsys)
    assert " answers with management URLs, which hold a key to every conversation." in line


@pytest.mark.behaviour("owners.orchestration-state")
def test_a_route_that_only_calls_much_is_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does one that calls itself hold up the start."""
    assert warnings_of(harmless, capsys) == []
