"""The settings of the Python worker that this app needs, and what goes wrong where one is missing.

Nobody else tells: the worker starts without them, and what fails then names no setting.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from hosting.surroundings import is_hosted, is_production

logger = logging.getLogger(__name__)

_ON = ("1", "true", "yes", "t", "y")


@dataclass(frozen=True)
class WorkerSetting:
    """One setting, the value to give it, what happens without it, and the first Python whose worker does without.

    Who is alone with the app does not miss one that is `for_load`.
    """

    name: str
    value: str
    without: str
    is_switch: bool = False
    for_load: bool = False
    not_from: tuple[int, int] = (99, 0)

    def is_missing(self, environ: Mapping[str, str], python: tuple[int, int]) -> bool:
        """Tell whether the worker of that Python needs it here and it is blank, or a switch that is off."""
        if python >= self.not_from or (self.for_load and not is_production(environ)):
            return False
        given = environ.get(self.name, "").strip().lower()
        return given not in _ON if self.is_switch else not given


WORKER_SETTINGS = (
    WorkerSetting("PYTHON_ENABLE_INIT_INDEXING", "1", "no HTTP route is answered", is_switch=True, not_from=(3, 13)),
    WorkerSetting(
        "PYTHON_ISOLATE_WORKER_DEPENDENCIES",
        "1",
        "the worker's own protobuf and grpc take the place of the app's",
        is_switch=True,
        not_from=(3, 13),
    ),
    WorkerSetting(
        "PYTHON_THREADPOOL_THREAD_COUNT",
        "32",
        "orchestrators and your own synchronous functions share a handful of threads",
        for_load=True,
    ),
)


def report_missing(environ: Mapping[str, str], python: tuple[int, int] = sys.version_info[:2]) -> None:
    """Log a warning for each setting that is missing; nothing where no host runs the app."""
    for setting in WORKER_SETTINGS if is_hosted(environ) else ():
        if setting.is_missing(environ, python):
            logger.warning("Set the app setting %s to %s: without it %s.", setting.name, setting.value, setting.without)
