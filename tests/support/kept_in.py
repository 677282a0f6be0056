"""Where an app that is killed keeps its threads: files of its own, an account's tables and blobs, a Redis server.

The gate runs each kill over files, and one of a kind over each of the others; a run that explores has all of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # the endpoint tests are collected where the packages of these are not
    from tests.support.azurite import Azurite
    from tests.support.redis_server import RedisServer

KINDS = ("sqlite", "tables", "redis")
HUB = "AzureFunctionsJobHost__extensions__durableTask__hubName"


def over(fixture: str, *in_the_gate: str) -> pytest.MarkDecorator:
    """Run a test with this fixture over these kinds in the gate, and over each where the run explores.

    For what is the same code whatever the store is, which the stores' own suites and the kills of runs hold over each.
    """
    cases = [kind if kind in in_the_gate else pytest.param(kind, marks=pytest.mark.explore) for kind in KINDS]
    return pytest.mark.parametrize(fixture, cases, indirect=True)


def settings_of(kind: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the settings that name the stores of that kind, under a hub that no other test has."""
    hub = {HUB: f"test{uuid.uuid4().hex[:16]}"}
    if kind == "sqlite":
        return {"AGENT_LOG": "sqlite:.agents/log.sqlite", **hub}
    if kind == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return {"AGENT_LOG": server.url, **hub}
    emulator: Azurite = request.getfixturevalue("azurite")
    beside = {"AGENT_ARCHIVE": "blob", "AGENT_ATTACHMENTS": "blob"}
    return {"AGENT_LOG": "tables", "AzureWebJobsStorage": emulator.connection_string, **beside, **hub}


def explored(*cases: object) -> list[Any]:
    """Return more cases of such a test, over each kind, for where the run explores."""
    return [pytest.param(case, kind, marks=pytest.mark.explore) for kind in KINDS for case in cases]


def kept_in(*kinds: str, first: object = (), rest: Sequence[object] = ()) -> list[Any]:
    """Return the cases of a test that has its stores as its last parameter and the others as given, tuples or single.

    `first` comes over each of these kinds in the gate. All others, and a test without cases, come over files in the
    gate, and over the rest where the run explores.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            kind,
            marks=() if kind == "sqlite" or (case == first and case != ()) else pytest.mark.explore,
        )
        for kind in kinds
        for case in (first, *rest)
    ]
