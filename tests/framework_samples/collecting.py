"""The agents and workflows of one sample: its file is run as its user runs it, and what it asks is noted.

Nothing of the sample is changed. Its `main` is called once, with the stand-ins for its providers and without anything
to read from the keyboard. The agents and workflows that it asks, each with its first message, are what is hosted.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import inspect
import io
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    AgentExecutorRequest,
    Content,
    FunctionalWorkflow,
    FunctionalWorkflowAgent,
    FunctionalWorkflowDefinition,
    Message,
    Workflow,
    WorkflowAgent,
)
from pydantic import BaseModel

from hosting.errors import ConfigurationError
from hosting.features.workflows.copies import copies_of
from tests.framework_samples import stand_ins

MAIN_SECONDS = 20.0
MOST_ASKED = 6
MODULE = "agent_framework_sample"
_SETTING = re.compile(r"""os\.environ\[["'](\w+)["']\]""")
_IS_WITHIN: ContextVar[bool] = ContextVar("is_within", default=False)


@dataclass
class Asked:
    """An agent or workflow that the sample asks, and its first message as JSON; None where the sample asks nothing.

    `given` is what an app is given of it: a graph as it was before the sample ran it.
    """

    subject: Any
    message: Any
    given: Any


@dataclass
class Collected:
    """What a sample asks, and what ended its `main` early, if anything did."""

    asked: list[Asked] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)
    ended_by: str = ""

    def note(self, subject: Any, message: Any) -> None:
        if len(self.asked) < MOST_ASKED and all(known.subject is not subject for known in self.asked):
            self.asked.append(Asked(subject, json_of(message), _as_it_is(subject)))


def _as_it_is(subject: Any) -> Any:
    """Return a copy of a graph, or of the agent of one: the sample's own run leaves its state in it."""
    if isinstance(subject, WorkflowAgent):
        return _as_it_is(subject.workflow).as_agent(subject.name, description=subject.description)
    if isinstance(subject, Workflow):
        with contextlib.suppress(ConfigurationError):  # the app refuses it by its name
            return copies_of(subject)()
    return subject


def json_of(message: Any) -> Any:
    """Return the message as the JSON value that a caller over HTTP sends; text for those of agents."""
    if isinstance(message, Message):
        return message.text
    if isinstance(message, Content):
        return message.text or ""
    if isinstance(message, AgentExecutorRequest):
        return json_of(message.messages)
    if isinstance(message, list) and message and all(isinstance(part, (Message, Content)) for part in message):
        return "\n".join(json_of(part) for part in message)
    try:
        return json.loads(json.dumps(message, default=_plain))
    except (TypeError, ValueError):
        return str(message)


def _plain(value: Any) -> Any:
    """Return a part of a message that is no JSON value as one."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Message):
        return value.text
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def collect(sample: Path) -> Collected:
    """Run the sample and return what it asked; of one that asks nothing, the agents and workflows that it has."""
    collected = Collected()
    stand_ins.replace()
    sys.path.insert(0, str(sample.parent))
    with _noting(collected), contextlib.redirect_stdout(io.StringIO()):
        thread = threading.Thread(target=_run, args=(sample, collected), daemon=True)
        thread.start()
        thread.join(2 * MAIN_SECONDS)
    return collected


def _run(sample: Path, collected: Collected) -> None:
    sys.stdin = io.StringIO()
    for setting in _SETTING.findall(sample.read_text(encoding="utf-8")):
        os.environ.setdefault(setting, "https://sample.invalid")
    specification = importlib.util.spec_from_file_location(MODULE, sample)
    assert specification is not None
    assert specification.loader is not None
    module = sys.modules[MODULE] = importlib.util.module_from_spec(specification)  # its types are found by their name
    try:
        specification.loader.exec_module(module)
        _call_main(getattr(module, "main", None))
    except BaseException as error:  # whatever it raises says why it goes no further here
        collected.ended_by = _reason(error)
    names = vars(module)
    if not collected.asked:  # its user would ask at a console, or this release has no such call
        kinds = (Agent, Workflow, FunctionalWorkflowDefinition)
        for subject in [*(value for value in names.values() if isinstance(value, kinds)), *reversed(collected.made)]:
            collected.note(subject, None)


def _call_main(main: Any) -> None:
    if main is None:
        return
    if inspect.iscoroutinefunction(main):

        async def within_time() -> None:
            await asyncio.wait_for(main(), MAIN_SECONDS)

        asyncio.run(within_time())
    else:
        main()


def _reason(error: BaseException) -> str:
    while inner := getattr(error, "exceptions", None):  # of a group
        error = inner[0]
    if isinstance(error, ModuleNotFoundError):
        package = re.search(r"agent-framework-\w+", str(error))
        return f"needs the package {package[0] if package else (error.name or str(error)).partition('.')[0]}"
    if isinstance(error, stand_ins.ServiceNeededError):
        return f"needs a service: {error}"
    if isinstance(error, EOFError):
        return "asks its user"
    return f"{type(error).__name__}: {error}"[:200]


@contextlib.contextmanager
def _noting(collected: Collected) -> Any:
    """Note what is asked by code that nothing else asked: an agent within a workflow is the workflow's."""
    runs = [(kind, kind.run) for kind in (Agent, Workflow, WorkflowAgent, FunctionalWorkflow, FunctionalWorkflowAgent)]
    make = Agent.__init__

    def made(self: Agent[Any], *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        collected.made.append(self)

    Agent.__init__ = made  # type: ignore[method-assign]
    for kind, run in runs:
        kind.run = _noted(run, collected)  # type: ignore[method-assign, assignment, union-attr]
    try:
        yield
    finally:
        Agent.__init__ = make  # type: ignore[method-assign]
        for kind, run in runs:
            kind.run = run  # type: ignore[method-assign, assignment, union-attr]


def _noted(run: Callable[..., Any], collected: Collected) -> Callable[..., Any]:
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _IS_WITHIN.get() or kwargs.get("checkpoint_id"):  # that goes on with an earlier run
            return run(self, *args, **kwargs)
        collected.note(self, args[0] if args else kwargs.get("message", kwargs.get("messages")))
        answer = run(self, *args, **kwargs)
        return _within(answer) if inspect.isawaitable(answer) and not kwargs.get("stream") else answer

    return noted


async def _within(answer: Any) -> Any:
    token = _IS_WITHIN.set(True)
    try:
        return await answer
    finally:
        _IS_WITHIN.reset(token)
