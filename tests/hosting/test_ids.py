"""The one alphabet of ids, and how long they may be."""

import pytest

from hosting.errors import InvalidThreadIdError
from hosting.identity import check_thread_id, is_id, new_id
from hosting.names import MAX_ENTITY_ID_LENGTH, entity_name, max_thread_id_length


@pytest.mark.parametrize("value", ["a", "A-b_c.d~e", "0" * 64, ".a", "a..b", pytest.param(new_id(), id="a new one")])
def test_the_alphabet_of_ids(value: str) -> None:
    """One for threads and runs, at each door."""
    assert is_id(value)


@pytest.mark.parametrize("value", ["", ".", "..", "a.", "a/b", "a b", "a\n", "ä", "a@b", "0" * 65, "%2e", "a\u0000"])
def test_what_is_no_id(value: str) -> None:
    """Nothing that a URL, a blob's name or the engine would read as something else."""
    assert not is_id(value)


@pytest.mark.parametrize("agent", ["a", "a" * 28, "a" * 61])
def test_the_longest_thread_id_fills_the_engines_limit_and_no_more(agent: str) -> None:
    """64, or what the agent's name leaves of 100; a generated id always fits."""
    longest = max_thread_id_length(agent)

    assert len(f"@{entity_name(agent)}@{'t' * longest}") <= MAX_ENTITY_ID_LENGTH
    assert check_thread_id("t" * longest, agent)
    assert check_thread_id(new_id(), agent)
    with pytest.raises(InvalidThreadIdError):
        check_thread_id("t" * (longest + 1), agent)
