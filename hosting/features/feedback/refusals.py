"""The refusals of feedback."""

from __future__ import annotations

from hosting.errors import RequestError


class RunNotEndedError(RequestError, code="run_not_ended", status=409):
    """The run has not ended: there is no answer yet to give feedback on."""


class RunTakenBackError(RequestError, code="run_taken_back", status=409):
    """The conversation was reset after the run, or the run was replaced: it no longer counts."""
