"""The log of steps, which `--verbose` shows: who took what and sent what, by ids; never what the app's texts say."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from devhost.durable.phrases import message_line, outgoing_line
from devhost.durable.records import Message, Step, Target

logger = logging.getLogger(__name__)


def log_step(target: Target, taken: Sequence[Message], step: Step) -> None:
    """Log a step that is durable."""
    if not logger.isEnabledFor(logging.DEBUG):
        return
    logger.debug("%s %s%s", target.kind.value, target.id, _status(step))
    for message in taken:
        logger.debug("  took %s", message_line(message))
    for outgoing in step.produced:
        logger.debug("  sent %s", outgoing_line(outgoing))


def _status(step: Step) -> str:
    return f" is {step.orchestration.status.value}" if step.orchestration is not None else ""
