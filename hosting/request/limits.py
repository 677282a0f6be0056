"""What callers of one agent may send."""

from __future__ import annotations

from dataclasses import dataclass

from hosting.request.model_inputs import ModelInputs, model_inputs
from hosting.settings import Settings


@dataclass(frozen=True)
class Limits:
    """Sizes of a body and of one data URI in bytes, the roles that a caller may speak in, what the model takes."""

    body_bytes: int
    data_bytes: int
    roles: tuple[str, ...]
    inputs: ModelInputs


def limits_of(agent: object, settings: Settings) -> Limits:
    """Return the limits of an agent; raises `ConfigurationError` for model inputs that are none."""
    return Limits(
        body_bytes=settings.max_body_bytes,
        data_bytes=settings.max_data_bytes,
        roles=tuple(role.strip() for role in settings.caller_roles.split(",")),
        inputs=model_inputs(agent, settings.model_inputs),
    )
