"""The choice of the model by settings."""

import pytest

from agents.models import SETTINGS, ModelSettingsError, create_chat_client
from hosting.offline.model import OfflineChatClient


@pytest.mark.behaviour("template.no-settings-no-network")
@pytest.mark.parametrize("settings", [{}, dict.fromkeys(SETTINGS, ""), {"OPENAI_MODEL": "  "}])
def test_without_settings_the_offline_model_answers(settings: dict[str, str]) -> None:
    """Absent and blank are the same: the template lists every setting as blank."""
    assert isinstance(create_chat_client(settings), OfflineChatClient)


NO_ADDRESS = "which is not an address: it must begin with http:// or https:// and name a server."


@pytest.mark.behaviour("template.half-set-model-refused")
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"OPENAI_API_KEY": "sk-x"},
            "OPENAI_API_KEY is set, and OPENAI_MODEL is not: OpenAI or a server that speaks its protocol needs both. "
            "Set OPENAI_MODEL, or remove OPENAI_API_KEY to talk to the offline model.",
        ),
        (
            {"AZURE_OPENAI_API_KEY": "k"},
            "AZURE_OPENAI_API_KEY is set, and AZURE_OPENAI_ENDPOINT is not: Azure OpenAI needs both. "
            "Set AZURE_OPENAI_ENDPOINT, or remove AZURE_OPENAI_API_KEY to talk to the offline model.",
        ),
        (
            {"OPENAI_API_KEY": "sk-x", "AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"},
            "OPENAI_API_KEY chooses OpenAI or a server that speaks its protocol and AZURE_OPENAI_ENDPOINT chooses "
            "Azure OpenAI. Remove the settings of one of them, or set them to nothing.",
        ),
        ({"OPENAI_BASE_URL": "a:1/v1", "OPENAI_MODEL": "m"}, f"OPENAI_BASE_URL is 'a:1/v1', {NO_ADDRESS}"),
        ({"OPENAI_BASE_URL": "http://", "OPENAI_MODEL": "m"}, f"OPENAI_BASE_URL is 'http://', {NO_ADDRESS}"),
        ({"AZURE_OPENAI_ENDPOINT": "x", "AZURE_OPENAI_MODEL": "m"}, f"AZURE_OPENAI_ENDPOINT is 'x', {NO_ADDRESS}"),
    ],
    ids=["key", "Azure's key", "two providers", "no protocol", "no server", "no protocol on Azure"],
)
def test_half_set_or_contradicting_settings_are_refused(settings: dict[str, str], sentence: str) -> None:
    """The whole sentence is the interface: it names the setting and the fix."""
    with pytest.raises(ModelSettingsError) as refused:
        create_chat_client(settings)

    assert str(refused.value) == sentence
