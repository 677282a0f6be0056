"""What the signatures of the public names show: people and coding agents print them."""

import contextlib
import inspect

import pytest

import packages.durable_agent_host as library

CANARY = "kept-in-the-environment"


@pytest.mark.behaviour("packages.public")
def test_no_signature_shows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the app's secrets: a default is None, and not the variables of the process."""
    monkeypatch.setenv("API_KEY", CANARY)
    shown = []
    for name in library.__all__:
        public = getattr(library, name)
        members = inspect.getmembers(public, inspect.isroutine) if inspect.isclass(public) else []
        for member in (public, *(member for _, member in members)):
            with contextlib.suppress(TypeError, ValueError):  # what C makes has none
                shown.append((name, str(inspect.signature(member))))

    assert [name for name, signature in shown if CANARY in signature] == []
    assert len(shown) > len(library.__all__)
