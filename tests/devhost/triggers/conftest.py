"""The emulator, for tests of queues and blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.devhost.triggers.storage import Storage
    from tests.support.azurite import Azurite


@pytest.fixture(scope="session")
def storage(azurite: Azurite) -> Storage:
    """The emulator's account."""
    from tests.devhost.triggers.storage import Storage

    return Storage(azurite)
