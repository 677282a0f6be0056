"""The page of the inventory names what the code calls things; tests/hosting/test_inventory.py looks into the stores."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hosting.address import Address
from hosting.archive import blob as archive_blobs
from hosting.archive import cosmos as archive_items
from hosting.archive.choice import SETTING as ARCHIVE_SETTING
from hosting.attachments import blob as attachment_blobs
from hosting.attachments.choice import SETTING as ATTACHMENTS_SETTING
from hosting.callback.notices import ENTITY, KEYS
from hosting.names import entity_name
from hosting.runlog import blob as run_log_blobs
from hosting.runlog.choice import DEFAULT_PATH
from hosting.stores.choice import DEFAULT_PATH as LOG_PATH
from hosting.stores.redis_scripts import KEYS as LOG_KEYS
from hosting.stores.sqlite_steps import THREADS
from hosting.stores.tables import table_name

ADDRESS = Address("AGENT", "THREAD").key.replace("AGENT", "<agent>").replace("THREAD", "<thread>")
PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("erasure.inventory")
@pytest.mark.parametrize(
    "said",
    [
        f"entity `{entity_name('<agent>')}`, key = the thread",
        f"entity `{ENTITY}`, {KEYS} keys",
        f"`{DEFAULT_PATH.as_posix()}`",
        f"`{DEFAULT_PATH.with_name(ARCHIVE_SETTING.file_name).as_posix()}`",
        f"`{DEFAULT_PATH.with_name(ATTACHMENTS_SETTING.file_name).as_posix()}`",
        f"container `{run_log_blobs.CONTAINER}`",
        f"container `{archive_blobs.CONTAINER}`",
        f"container `{archive_items.CONTAINER}` of the database",
        f"container `{attachment_blobs.CONTAINER}`",
    ],
)
def test_the_page_names_every_entity_file_and_container(said: str) -> None:
    """As the code does."""
    assert said in PAGE


@pytest.mark.behaviour("erasure.inventory")
@pytest.mark.parametrize(
    "said",
    [
        f"| `{LOG_PATH.as_posix()}` | `head` |",
        f"| table `{table_name('HUB').replace('HUB', '<hub>')}`, partition = the thread |",
        *(f"| `{table}` |" for table in re.findall(r"CREATE TABLE (\w+)", THREADS.schema)),
        *(f"| `{{<hub>/{ADDRESS}}}:{name}` |" for name in LOG_KEYS),
    ],
)
def test_the_page_names_what_a_threads_log_is_kept_in(said: str) -> None:
    """Its file, tables and keys."""
    assert said in PAGE
