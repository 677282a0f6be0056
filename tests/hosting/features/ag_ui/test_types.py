"""Every kind of stream, held by PyPI's own types, which know no field that is not theirs, and by its validator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pydantic
import pytest

from tests.support.ag_ui import Events, Wired, answer, cancelled, folded, interrupts, resume, wanted

core: Any = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed")
pytestmark = pytest.mark.behaviour("ag-ui.types")

LARGE = {"color": "red", "shapes": [*range(50)]}
EVENT: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(core.Event)


async def streams(wired: Wired) -> dict[str, Events]:
    asking = await wired.run(wanted("call refund 7, refund 8", thread="a"), "Clerk")
    answers = [answer(one["id"], approved=one is interrupts(asking)[0]) for one in interrupts(asking)]
    first = wanted("say one two", thread="b")
    plain = await wired.run(first)
    had = folded(plain, first["messages"])
    return {
        "plain": plain,
        "again": await wired.run(wanted(*had, thread="b")),
        "tool": await wired.run(wanted("tool thread_name", thread="c")),
        "asking": asking,
        "answered": [*asking, *await wired.run(resume(*answers, thread="a"), "Clerk")],
        "failed": await wired.run(wanted("fail", thread="d")),
        "state": await wired.run(wanted("paint blue, look", thread="e", state={"color": "red"}), "Painter"),
        "changes": await wired.run(wanted("paint blue, look", thread="f", state=LARGE, parentRunId="r-0"), "Painter"),
        "cancelled": await asyncio.wait_for(cancelled(wired, wanted("sleep 60")), 20),
    }


async def test_every_stream_is_of_the_protocols_types_and_passes_its_validator(wired: Wired) -> None:
    """With no member that a type does not know, no error and no warning; a refusal is a type of it, too."""
    validator: Any = pytest.importorskip("ag_ui_validate", reason="ag-ui-validate is not installed")
    for name, events in (await streams(wired)).items():
        checked = validator.create_validator()
        for event in events:
            assert list(unknown(EVENT.validate_python(event))) == [], (name, event)
            checked.feed(event)
        checked.finalize()
        wrong = [each for each in checked.report().diagnostics if each.severity in ("error", "warning")]
        if name == "answered":  # the call was shown by the run before, as the protocol wants it: it reads one run
            wrong = [each for each in wrong if each.rule != "AGUI207"]
        assert wrong == [], (name, wrong)
    _, error = await wired.refused(wanted("hello", parentRunId=5))
    assert list(unknown(core.RunErrorEvent.model_validate(error))) == []


def unknown(value: Any, where: str = "") -> Iterator[str]:
    """Iterate over the members that the types do not know."""
    if isinstance(value, pydantic.BaseModel):
        yield from (f"{where}.{name}" for name in value.__pydantic_extra__ or {})
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from unknown(item, f"{where}[]")
