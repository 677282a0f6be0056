"""The one alphabet of ids, how long they may be, and addresses of threads: one text for each."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hosting.names import (
    Address,
    key_prefix,
    keyed_thread_id,
)

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
