"""The routes by which a run is paused and resumed."""

from __future__ import annotations

from hosting.http import bodies, places
from hosting.http.route import ResponseSpec, Route

_ANSWERS = (ResponseSpec(202, "The run's status now.", bodies.RunState),)
PAUSE = Route("run_pause", "POST", places.RUN.below("pause"), "Pause a run", _ANSWERS, needs="run")
RESUME = Route("run_resume", "POST", places.RUN.below("resume"), "Resume a run", _ANSWERS, needs="run")
ROUTES = (PAUSE, RESUME)
