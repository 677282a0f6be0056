"""What a run's log folds to, and what its record is reported as."""

import pytest

from hosting.errors import REQUEST_ERRORS, RUN_ERROR_BY_CODE, RUN_ERRORS
from hosting.events import ApprovalAnswered, Started
from hosting.reply.run_replies import run_error
from hosting.requests import Decision
from hosting.run_record import fold
from hosting.times import iso
from tests.support.sample_events import accepted, completed, failed, signalled, started


def test_a_record_is_the_fold_of_its_events() -> None:
    """Position, newest claim, last signal, first terminal record."""
    later = Started(at=9.0, attempt=2, token="later", deadline=10.0)

    record = fold([accepted("run"), started("first"), signalled(7.0), later])

    assert record is not None
    assert (record.position, record.attempts, record.signalled_at, record.terminal) == (4, 2, 7.0, None)
    assert (record.is_held_by("first"), record.is_held_by("later")) == (False, True)
    ended = record.with_event(completed()).with_event(failed())
    assert (ended.terminal, ended.position, ended.is_held_by("later")) == (completed(), 6, False)


def test_what_stands_behind_the_terminal_record_tells_nothing_more_of_the_run() -> None:
    """A stream of the run is closed at the position of its end, whatever is appended later."""
    ended = [accepted("run"), started(), completed()]
    answered = ApprovalAnswered(at=4.0, decision=Decision(id="approval", approved=True))

    record = fold([*ended, answered])

    assert record is not None
    assert (record.told, record.position) == (3, 4)


def test_a_log_begins_with_its_request_or_is_none() -> None:
    """An empty log is no run; another beginning is a defect of the store."""
    assert fold([]) is None
    with pytest.raises(ValueError, match="must begin with 'accepted'"):
        fold([started()])


def test_a_failure_of_a_newer_version_is_read_as_a_failure() -> None:
    """An unknown code in the log keeps its sentence."""
    error = run_error(failed().model_copy(update={"code": "run_frozen", "detail": "It froze."}))

    assert (error.code, error.status, error.detail) == ("run_failed", 500, "It froze.")


def test_codes_are_unique_and_their_statuses_fit() -> None:
    """One code, one class; requests are refused by 4xx, or by those that are ours to bear."""
    codes = [error.code for error in (*REQUEST_ERRORS, *RUN_ERRORS)]

    assert len(codes) == len(set(codes))
    ours = {
        "log_unavailable",
        "archive_unavailable",
        "attachments_unavailable",
        "archive_incomplete",
        "engine_unavailable",
        "shutting_down",
        "internal_error",
    }
    assert {error.code for error in REQUEST_ERRORS if error.status >= 500} == ours
    assert set(RUN_ERROR_BY_CODE) == {error.code for error in RUN_ERRORS}


def test_times_are_written_in_utc_with_microseconds() -> None:
    """As the stored document wants them."""
    assert iso(1_700_000_000.25) == "2023-11-14T22:13:20.250000+00:00"
