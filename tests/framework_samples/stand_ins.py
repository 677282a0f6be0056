"""Modules in place of those that need an account: their chat clients answer as the offline model does.

A sample imports `FoundryChatClient` and `AzureCliCredential` and asks a service. Here both come from a module of ours,
whose clients take any arguments and need no network. What stands for a service itself, such as an agent that runs
there, refuses to be made, and so says why its sample cannot be hosted.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from agent_framework import ChatMiddlewareLayer, FunctionInvocationLayer
from agent_framework.observability import ChatTelemetryLayer

from tests.framework_samples.model import SampleModel

PROVIDERS = (
    "amazon",
    "anthropic",
    "azure",
    "claude",
    "foundry",
    "foundry_local",
    "gemini",
    "github",
    "google",
    "microsoft",
    "mistral",
    "ollama",
    "openai",
)
"""Whose modules are replaced, as `agent_framework.foundry` and `agent_framework_foundry`."""

OTHERS = ("azure.identity", "azure.ai", "dotenv", "rich", "textual")
"""What the samples make their clients and their consoles with; nobody sits at a console here."""

_CHAT_CLIENT = re.compile(r"(Chat|ChatCompletion|Responses|Anthropic|Bedrock|Claude|Ollama|Gemini)\w*Client$")


class ServiceNeededError(Exception):
    """The sample uses something that runs at a service and not in its process."""


class _Anything(type):
    """A class whose unknown attributes are functions that return a tool of the service's, as `get_web_search_tool`."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: {"type": name.removeprefix("get_").removesuffix("_tool")}


class _Client(type(SampleModel)):  # type: ignore[misc]
    """A class of clients whose tools of the service can be had from the class too."""

    def __getattr__(cls, name: str) -> Any:
        return _service_tool(name, cls.__name__)


def _service_tool(name: str, owner: str) -> Any:
    """Return a function that makes a tool which runs at the service, as `get_web_search_tool`."""
    if name.startswith("get_") and name.endswith("_tool"):
        return lambda *_, **__: {"type": name.removeprefix("get_").removesuffix("_tool")}
    raise AttributeError(f"{owner} has no {name}")


class _SampleClient(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChatTelemetryLayer[Any], SampleModel, metaclass=_Client
):
    """The model of the samples with the layers of agent-framework's clients; takes the arguments of any of them."""

    def __init__(self, *_: Any, middleware: Any = None, **__: Any) -> None:
        super().__init__(middleware=middleware)

    async def __aenter__(self) -> _SampleClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return _service_tool(name, type(self).__name__)

    @classmethod
    def __class_getitem__(cls, _: Any) -> type[_SampleClient]:
        return cls


class _Value(metaclass=_Anything):
    """Anything else that a sample makes on its way to an agent: a credential, a project client, options."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take everything."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def close(self) -> None:
        """Nothing is open."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    def __call__(self, *args: Any, **_: Any) -> Any:
        """Decorate a function as it is."""
        return args[0] if args else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ServiceNeededError(f"{type(self).__name__}.{name} is a service's")


class _Service:
    """What runs elsewhere."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise ServiceNeededError(f"{type(self).__name__} runs at a service")


class _StandIn(ModuleType):
    """A module that has every name: by its ending a chat client, something of a service, or a value."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "load_dotenv":
            return lambda *_, **__: False
        if name.islower():
            value: Any = lambda *_, **__: _Value()  # noqa: E731 - a function of the module
        elif _CHAT_CLIENT.search(name):
            value = type(name, (_SampleClient,), {})
        elif name.endswith(("Options", "Settings")):
            value = dict
        elif name.endswith(("Agent", "EmbeddingClient", "Provider", "Store", "RawClient")):
            value = type(name, (_Service,), {})
        else:
            value = type(name, (_Value,), {})
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not is_replaced(name):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """It has all that it needs."""


def is_replaced(module: str) -> bool:
    """Return whether the module is one of a provider, or of what its clients are made with."""
    provider = re.match(r"agent_framework[._](\w+)", module)
    if provider is not None and provider[1] in PROVIDERS:
        return True
    return any(module == other or module.startswith(f"{other}.") for other in OTHERS)


def replace() -> None:
    """Have every later import of a provider's module get a stand-in."""
    for module in [name for name in sys.modules if is_replaced(name)]:
        del sys.modules[module]
    sys.meta_path.insert(0, _Finder())
