"""The tests that CI may skip, and why that is right. Any other skip fails a run with --strict-skips."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Sequence
from dataclasses import dataclass

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class AllowedSkip:
    """Skips of the tests whose ids match `tests`, for a reason that matches `reason`; `pythons`: on these alone.

    A rule that no other test shows fails a full run although each of its skips is allowed, unless it `excuses_rules`.
    """

    tests: str
    reason: str
    why: str
    pythons: tuple[str, ...] = ()
    excuses_rules: bool = False

    def allows(self, test: str, reason: str, python: str) -> bool:
        """Tell whether this entry speaks of that skip."""
        named = fnmatch.fnmatchcase(test, self.tests) and fnmatch.fnmatchcase(reason, self.reason)
        return named and self.is_for(python)

    def is_for(self, python: str) -> bool:
        """Tell whether it speaks of runs on that Python."""
        return not self.pythons or python in self.pythons


ALLOWED_SKIPS: Sequence[AllowedSkip] = (
    AllowedSkip(
        "tests/azure/*",
        "no host given:*",
        "They test a host that somebody names; test_this_suite.py takes them to the local host in every run.",
    ),
    AllowedSkip(
        "tests/model/*",
        "needs the small real model:*",
        "The model's package takes minutes to compile; `python dev.py test --model` runs them.",
    ),
    AllowedSkip(
        "tests/contracts/test_object_store.py::*cosmos-emulator*",
        "no emulator of Cosmos DB:*",
        "Microsoft's emulator is an image of its own; the same suite runs on the emulator of npm.",
    ),
    AllowedSkip(
        "tests/template/test_infra_compiles.py::*",
        "no bicep on the path:*",
        "The compiler comes from GitHub's downloads alone; the other tests parse every file.",
    ),
    AllowedSkip(
        "tests/template/test_*.py::*",
        "no Python 3.* on this machine",
        "Which Pythons a machine has is its own affair; CI names those that it lacks.",
    ),
    AllowedSkip(
        "tests/*",
        "the recordings * not beside this *",
        "They are no part of this repository, and a clone passes without them. What they show is printed as not shown.",
        excuses_rules=True,
    ),
    AllowedSkip(
        "tests/hosting/*",
        "agent-framework-azurefunctions is not installed:*",
        "The package asks for azure-functions below 2, which no Python from 3.13 on takes; the older ones have it.",
        pythons=("3.13", "3.14"),
    ),
    AllowedSkip(
        "tests/conformance/*",
        "agent-framework-azurefunctions is not installed:*",
        "The package asks for azure-functions below 2, which no Python from 3.13 on takes; the older ones have it.",
        pythons=("3.13", "3.14"),
    ),
    AllowedSkip(
        "tests/state/test_interop.py",
        "agent-framework-durabletask is not installed here",
        "It comes with agent-framework-azurefunctions, which no Python from 3.13 on takes; the older ones have it.",
        pythons=("3.13", "3.14"),
    ),
)
