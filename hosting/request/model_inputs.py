"""What the model behind an agent takes besides text: declared by the agent or its client, else by a setting.

No client of agent-framework says it of itself, and one that cannot take a content may leave it out without a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hosting.errors import ConfigurationError
from hosting.settings import MODEL_INPUT

ATTRIBUTE = "MODEL_INPUTS"
FILE = "hostedFile"
_INPUT = re.compile(MODEL_INPUT)


@dataclass(frozen=True)
class ModelInputs:
    """Media types, ranges of them like `image/*`, and `hostedFile` for files kept by the model's provider."""

    names: tuple[str, ...]

    def take(self, name: str) -> bool:
        """Tell whether the model takes a media type in lower case, or `hostedFile`."""
        ranges = (f"{name.partition('/')[0]}/*", "*/*") if "/" in name else ()
        return any(accepted in self.names for accepted in (name, *ranges))

    def __str__(self) -> str:
        """Return the names as a sentence lists them."""
        return ", ".join(["text", *(name for name in self.names if name != "text")])


def model_inputs(agent: object, default: str) -> ModelInputs:
    """Return what the attribute `MODEL_INPUTS` of an agent or of its client lists, else the setting's `default`.

    Raises `ConfigurationError` for a name in the attribute that is neither a media type nor `hostedFile` nor `text`.
    """
    for declaring in (agent, getattr(agent, "client", None)):
        names = getattr(declaring, ATTRIBUTE, None)
        if names is not None:
            return _declared(names, type(declaring).__name__)
    return ModelInputs(tuple(name.strip() for name in default.split(",")))


def _declared(names: Sequence[str], where: str) -> ModelInputs:
    wrong = [names] if isinstance(names, str) else [name for name in names if not _INPUT.fullmatch(name)]
    if wrong:
        raise ConfigurationError(
            f"{ATTRIBUTE} of {where} has {wrong[0]!r:.80}. List media types such as image/* or application/pdf, "
            f"{FILE}, or text for nothing else."
        )
    return ModelInputs(tuple(names))
