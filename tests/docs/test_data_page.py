"""The page of the inventory names what the code calls things; tests/hosting/test_inventory.py looks into the stores."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hosting.core.hooks import ENTITY, KEYS
from hosting.core.stores import cosmos
from hosting.core.stores.redis import KEYS as LOG_KEYS
from hosting.core.stores.sqlite import THREADS
from hosting.core.stores.tables import table_name
from hosting.core.thread_log import store_key
from hosting.names import Address, entity_name
from hosting.store_choice import ARCHIVE_SETTING, ATTACHMENTS_SETTING, DEFAULT_PATH

THREAD = Address("AGENT", "THREAD")
ADDRESS = THREAD.key.replace("AGENT", "<agent>").replace("THREAD", "<thread>")
LIFE = f"{store_key('<hub>', THREAD).space}/{ADDRESS}/<epoch>"
PAGE = (Path(__file__).parents[2] / "docs" / "contributing" / "stored-names.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("erasure.inventory")
@pytest.mark.parametrize(
    "text",
    [
        f"entity `{entity_name('<agent>')}`, key = the thread",
        f"entity `{ENTITY}`, {KEYS} keys",
        f"`{DEFAULT_PATH.as_posix()}`",
        f"`{DEFAULT_PATH.with_name(ARCHIVE_SETTING.file_name).as_posix()}`",
        f"`{DEFAULT_PATH.with_name(ATTACHMENTS_SETTING.file_name).as_posix()}`",
        f"container `{ARCHIVE_SETTING.container}`, `{LIFE}/<generation>-",
        f"container `{cosmos.CONTAINER}` of the database in `AGENT_COSMOS`, partition `{LIFE}`",
        f"container `{ATTACHMENTS_SETTING.container}`, `{LIFE}/<hash>`",
    ],
)
def test_the_page_names_every_entity_file_and_container(text: str) -> None:
    """As the code does."""
    assert text in PAGE


@pytest.mark.behaviour("erasure.inventory")
@pytest.mark.parametrize(
    "text",
    [
        f"| `{DEFAULT_PATH.as_posix()}` | `head` |",
        f"| table `{table_name('HUB').replace('HUB', '<hub>')}`, partition = the thread |",
        *(f"| `{table}` |" for table in re.findall(r"CREATE TABLE (\w+)", THREADS.schema)),
        *(f"| `{{<hub>/{ADDRESS}}}:{name}` |" for name in LOG_KEYS),
    ],
)
def test_the_page_names_what_a_threads_log_is_kept_in(text: str) -> None:
    """Its file, tables and keys."""
    assert text in PAGE
