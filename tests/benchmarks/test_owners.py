"""The measure of who asks: every way is measured, and the issuer is asked once."""

from __future__ import annotations

import pytest

from benchmarks.measures import owners
from benchmarks.sizes import QUICK
from benchmarks.turns import WrongAnswerError
from hosting.principal import Principal


async def test_the_quick_measure_gives_every_figure() -> None:
    """Times above nothing."""
    result = await owners.measure(QUICK)

    assert [figure.name for figure in result.figures] == ["a function of the app", "easy_auth", "bearer token, warm"]
    assert all(figure.value > 0 for figure in result.figures)


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
async def test_somebody_else_who_is_signed_in_gives_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that lets the wrong one in is not fast."""
    monkeypatch.setattr(owners, "_own", lambda request: Principal("i", "eve"))

    with pytest.raises(WrongAnswerError, match="eve"):
        await owners.measure(QUICK)
