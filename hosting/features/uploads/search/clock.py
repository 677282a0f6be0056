"""The job that makes a file ready for search: an orchestration of steps, and the activity that takes one.

Whichever version of the app runs then replays an orchestration, so this one decides nothing: it has the activity take
the step that the last one named, waits where that says so, and ends where it names none. What a step makes is recorded
before the next one begins (`jobs.py`), so a step that is taken again finds it.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import timedelta
from typing import Any

from hosting.core.hooks import key_of
from hosting.feature import OrchestrationContext

JOB, STEP, FORGET = "agents_file_index", "agents_file_index_step", "file_index_forget"
"""The names of the orchestration, of the activity, and of what removes an instance that has ended: they are stored."""
AGAIN_SECONDS = 60.0
"""After this a step is taken again that the platform stopped."""
_STEPS = 50
"""So many steps have one history; then the orchestration begins anew, with the next step."""


def index_file(context: OrchestrationContext) -> Generator[Any, Any, None]:
    """Take steps until there is none; with its end the engine sends the order to remove the instance."""
    step = context.get_input()
    instance, file_id = step["instance"], step["file_id"]
    for _ in range(_STEPS):
        first = yield context.task_any([context.call_activity(STEP, json.dumps(step))])
        result = context.result_of(first)
        seconds = AGAIN_SECONDS
        if not isinstance(result, Exception):  # the activity ran out of the platform's time
            if not result:
                context.signal_entity(f"{FORGET}-{key_of(file_id)}", FORGET, {"instance": instance})
                return
            step = json.loads(result)
            seconds = step.pop("wait_seconds", 0)
        if seconds:
            yield context.create_timer(context.current_utc_datetime + timedelta(seconds=seconds))
    context.continue_as_new(step)
