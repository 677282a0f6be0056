"""Which model the agents talk to, chosen by settings; with none of them set, the offline model (models.md)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_framework import FunctionInvocationConfiguration, Message, SupportsChatGetResponse

from hosting.settings import report_misspelt

ChatClient: TypeAlias = SupportsChatGetResponse[Any]
Settings: TypeAlias = Mapping[str, str]

ADDRESS = re.compile(r"https?://[^/\s]+", re.IGNORECASE)
OPENAI_URL = "https://api.openai.com/v1"

# The model reads what an exception of a tool says, and may tell the caller; without this only that the tool failed.
TOOLS: FunctionInvocationConfiguration = {"include_detailed_errors": True}


class ModelSettingsError(ValueError):
    """The model's settings contradict each other or lack one; the message names the setting and the fix."""


@dataclass(frozen=True)
class Provider:
    """One way to reach a model: any setting of `chosen_by` chooses it, and then all of `needed` must be set."""

    name: str
    chosen_by: tuple[str, ...]
    needed: tuple[str, ...]
    optional: tuple[str, ...]
    addresses: tuple[str, ...]
    create: Callable[[Settings], ChatClient]

    def all_settings(self) -> tuple[str, ...]:
        return self.chosen_by + self.needed + self.optional


def create_chat_client(environ: Mapping[str, str]) -> ChatClient:
    """The client for the provider that the settings name; blank settings count as absent.

    Raises ModelSettingsError when settings of two providers are set, or of one only half. A misspelt one is logged.
    """
    report_misspelt(environ, BEGINNINGS, (*SETTINGS, *READ_BY_LIBRARIES), advice="See docs/guides/models.md.")
    settings = {name: environ[name].strip() for name in SETTINGS if environ.get(name, "").strip()}
    named = [provider for provider in PROVIDERS if any(name in settings for name in provider.all_settings())]
    if not named:
        from hosting.offline.model import OfflineChatClient

        return OfflineChatClient(function_invocation_configuration=TOOLS)
    provider = the_only(named, settings)
    refuse_half_set(provider, settings)
    refuse_address(provider, settings)
    return provider.create(settings)


def the_only(named: list[Provider], settings: Settings) -> Provider:
    """The one provider that is named; two are refused, because nobody could know which one answers."""
    if len(named) == 1:
        return named[0]
    first, second = (next(name for name in provider.all_settings() if name in settings) for provider in named)
    raise ModelSettingsError(
        f"{first} chooses {named[0].name} and {second} chooses {named[1].name}. "
        f"Remove the settings of one of them, or set them to nothing."
    )


def refuse_half_set(provider: Provider, settings: Settings) -> None:
    """Raise ModelSettingsError when a setting that `provider` cannot do without is absent."""
    present = next(name for name in provider.all_settings() if name in settings)
    if not any(name in settings for name in provider.chosen_by):
        raise ModelSettingsError(half_set(present, " or ".join(provider.chosen_by), provider))
    for name in provider.needed:
        if name not in settings:
            raise ModelSettingsError(half_set(present, name, provider))


def refuse_address(provider: Provider, settings: Settings) -> None:
    """Raise ModelSettingsError when the server's address says no protocol, or no server."""
    for name in provider.addresses:
        value = settings.get(name, "")
        if value and not ADDRESS.match(value):
            raise ModelSettingsError(
                f"{name} is {value!r}, which is not an address: it must begin with http:// or https:// and name a "
                "server."
            )


def half_set(present: str, absent: str, provider: Provider) -> str:
    return (
        f"{present} is set, and {absent} is not: {provider.name} needs both. "
        f"Set {absent}, or remove {present} to talk to the offline model."
    )


def create_openai_client(settings: Settings) -> ChatClient:
    """A Chat Completions client: every compatible server speaks it, and it leaves the conversation with this app."""
    from agent_framework.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(
        model=settings["OPENAI_MODEL"],
        # The library insists on a key, and servers on one's own machine mostly want none.
        api_key=settings.get("OPENAI_API_KEY", "none"),
        # Given even when it is the default: the library takes a blank OPENAI_BASE_URL for an address.
        base_url=settings.get("OPENAI_BASE_URL", OPENAI_URL),
        message_preparer=with_content,
        function_invocation_configuration=TOOLS,
    )


def with_content(message: Message, prepared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`prepared` with a text, if an empty one, in each: OpenAI lets a tool call go without, llama.cpp answers 500."""
    return [{"content": "", **values} for values in prepared]


def create_azure_client(settings: Settings) -> ChatClient:
    """A client for one Azure OpenAI deployment, with a key or, without one, as the identity that runs the app."""
    from agent_framework.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(
        model=settings["AZURE_OPENAI_MODEL"],
        azure_endpoint=settings["AZURE_OPENAI_ENDPOINT"],
        api_version=settings.get("AZURE_OPENAI_API_VERSION"),
        function_invocation_configuration=TOOLS,
        **azure_credentials(settings.get("AZURE_OPENAI_API_KEY")),
    )


def azure_credentials(key: str | None) -> dict[str, Any]:
    if key is not None:
        return {"api_key": key}
    from azure.identity.aio import DefaultAzureCredential

    return {"credential": DefaultAzureCredential()}


PROVIDERS = (
    Provider(
        name="OpenAI or a server that speaks its protocol",
        chosen_by=("OPENAI_BASE_URL", "OPENAI_API_KEY"),
        needed=("OPENAI_MODEL",),
        optional=(),
        addresses=("OPENAI_BASE_URL",),
        create=create_openai_client,
    ),
    Provider(
        name="Azure OpenAI",
        chosen_by=("AZURE_OPENAI_ENDPOINT",),
        needed=("AZURE_OPENAI_MODEL",),
        optional=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_API_VERSION"),
        addresses=("AZURE_OPENAI_ENDPOINT",),
        create=create_azure_client,
    ),
)
SETTINGS = tuple(name for provider in PROVIDERS for name in provider.all_settings())
BEGINNINGS = ("OPENAI_", "AZURE_OPENAI_")
READ_BY_LIBRARIES = (
    "AZURE_OPENAI_AD_TOKEN",
    "OPENAI_ADMIN_KEY",
    "OPENAI_API_VERSION",
    "OPENAI_LOG",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "OPENAI_WEBHOOK_SECRET",
)
