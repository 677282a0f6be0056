"""The one alphabet of ids, how long they may be, and addresses of threads: one text for each."""

from __future__ import annotations

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
    key_prefix,
    keyed_thread_id,
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


@pytest.mark.behaviour("log.addresses")
def test_an_agent_is_found_in_whichever_letter_case() -> None:
    """Entity names are compared without it."""
    assert Address.of("Weather", "t1").key == Address.of("weather", "t1").key == "weather.app~t1"


@pytest.mark.behaviour("hosting.names-with-blanks")
def test_an_agent_with_a_blank_has_a_key_of_its_own_that_leads_back() -> None:
    """Without the blank, which not every store has to take in a key."""
    addresses = [Address.of(agent, "t1") for agent in ("Weather Agent", "weather_agent", "weather-agent")]

    assert addresses[0].key == "weather!agent.app~t1"
    assert addresses[0].key.startswith(key_prefix("weather agent", "app"))
    assert [Address.of_key(address.key) for address in addresses] == addresses


@pytest.mark.behaviour("log.addresses")
@pytest.mark.parametrize("owner", ["", "App", "a~b", "a" * 65])
def test_an_owner_that_could_be_mistaken_is_refused(owner: str) -> None:
    with pytest.raises(ValueError, match="owner"):
        Address.of("a", "t1", owner)


@pytest.mark.behaviour("log.addresses")
def test_a_key_without_a_thread_names_the_same_thread_again() -> None:
    ids = [
        keyed_thread_id(*parts) for parts in (("A", "app", "k"), ("a", "app", "k"), ("a", "o", "k"), ("a", "app", "j"))
    ]

    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
