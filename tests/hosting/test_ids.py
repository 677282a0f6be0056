"""The one alphabet of ids, and how long they may be."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosting.errors import InvalidThreadIdError
from hosting.names import (
    APP,
    MAX_ENTITY_ID_LENGTH,
    Address,
    check_thread_id,
    entity_name,
    id_pattern,
    is_id,
    max_thread_id_length,
    new_id,
)
from hosting.principal import Principal


@pytest.mark.parametrize("value", ["a", "A-b_c.d~e", "0" * 64, ".a", "a..b", pytest.param(new_id(), id="a new one")])
def test_the_alphabet_of_ids(value: str) -> None:
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


IDS = st.from_regex(id_pattern(), fullmatch=True)
PEOPLE = st.builds(Principal, st.text('ab:/ "', min_size=1), st.text('ab:/ "', min_size=1))
OWNERS = st.one_of(st.just(APP), PEOPLE.map(lambda person: person.owner))


@pytest.mark.behaviour("owners.by-construction")
@settings(max_examples=25)
@given(st.lists(st.tuples(OWNERS, IDS), min_size=2, max_size=6, unique=True))
def test_no_two_pairs_of_owner_and_thread_share_a_name(pairs: list[tuple[str, str]]) -> None:
    """Neither the entity's key nor the key of log, archive and attachments; and each key leads back."""
    addresses = [Address.of("Joker", thread_id, owner) for owner, thread_id in pairs]

    assert len({one.entity[1] for one in addresses}) == len({one.key for one in addresses}) == len(pairs)
    assert [Address.of_entity("joker", one.entity[1]) for one in addresses] == addresses


@pytest.mark.behaviour("owners.by-construction")
@pytest.mark.parametrize("agent", ["a", "a" * 28, "a" * 44])
def test_the_longest_thread_id_of_a_person_fills_the_limit_too(agent: str) -> None:
    """What the owner takes is said by the refusal's number; a generated id always fits."""
    owner = Principal("i", "p").owner
    longest = max_thread_id_length(agent, owner)

    assert len(f"@{entity_name(agent)}@{Address.of(agent, 't' * longest, owner).entity[1]}") <= MAX_ENTITY_ID_LENGTH
    assert check_thread_id(new_id(), agent, owner)
    with pytest.raises(InvalidThreadIdError, match=f"Use 1 to {longest} of"):
        check_thread_id("t" * (longest + 1), agent, owner)


FORKING = """
import os
from hosting.names import new_id
new_id()
if child := os.fork():
    os.waitpid(child, 0)
print(*(new_id() for _ in range(100)), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
def test_a_forked_process_draws_ids_of_its_own() -> None:
    printed = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60, check=True)

    assert len(set(printed.stdout.split())) == len(printed.stdout.split()) == 200
