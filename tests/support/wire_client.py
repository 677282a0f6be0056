"""An official client from npm, run against an app with its wire on a real host."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.npm_client import printed_by, with_packages
from tests.support.running_host import RunningHost


class WireClient:
    """The client of the test module's folder: its packages are in the `cache`, its app is the folder `app`."""

    def __init__(self, config: pytest.Config, place: Path, test: str, cache: str) -> None:
        self._cache = Path(config.cache.mkdir(cache))
        self._place, self._folder = place, Path(test).parent

    async def prints(self, *arguments: str, script: str = "client.mjs", path: str = "") -> Any:
        """Return what a script prints of a new host, whose origin with the wire's path is its last argument.

        The test is skipped without npm's registry.
        """
        ready = with_packages(self._folder / script, self._cache)
        with RunningHost(shutil.copytree(self._folder / "app", self._place / "app")) as host:
            return await printed_by(ready, *arguments, f"{host.origin}{path}")
