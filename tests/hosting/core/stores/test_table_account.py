"""Which tables the settings lead to, and which settings are refused at start-up."""

from __future__ import annotations

import socket

import pytest

from hosting.core.stores.storage_account import table_account
from hosting.core.stores.tables import table_name
from hosting.errors import ConfigurationError

KEY = "AccountName=shop;AccountKey=c2VjcmV0;"
ALONE = {"AzureWebJobsScriptRoot": "app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}


@pytest.mark.behaviour("log.tables-account")
@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"AzureWebJobsStorage": "UseDevelopmentStorage=true"}, "http://127.0.0.1:10002/devstoreaccount1"),
        ({"AzureWebJobsStorage": KEY}, "https://shop.table.core.windows.net"),
        ({"AzureWebJobsStorage": f"{KEY}TableEndpoint=https://tables.shop"}, "https://tables.shop"),
        ({"AzureWebJobsStorage__accountName": "shop"}, "https://shop.table.core.windows.net"),
        (
            {
                "AzureWebJobsStorage__tableServiceUri": "https://shop.table.core.usgovcloudapi.net",
                "AzureWebJobsStorage__blobServiceUri": "https://shop.blob.core.usgovcloudapi.net",
                "AzureWebJobsStorage__clientId": "0000",
            },
            "https://shop.table.core.usgovcloudapi.net",
        ),
    ],
)
async def test_the_tables_are_in_the_account_that_the_host_uses(environ: dict[str, str], url: str) -> None:
    """By its connection string or by the app's identity, in any cloud; nothing is asked of it before the first call."""
    async with table_account(environ, "TEST")("Hub") as table:
        assert table.client.url == url


@pytest.mark.behaviour("log.tables-account")
@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({}, r"TEST is 'tables', and no storage account is set up for it\. Set AzureWebJobsStorage to a connection"),
        ({"AzureWebJobsStorage__blobServiceUri": "https://shop.blob.core.windows.net"}, "no storage account is set up"),
        ({"AzureWebJobsStorage": "nonsense"}, "AzureWebJobsStorage is not a connection string of a storage account: "),
        (
            {"AzureWebJobsStorage": "TableEndpoint=https://tables.shop"},
            "not a connection string of a storage account: ",
        ),
        ({"AzureWebJobsStorage__tableServiceUri": "http://shop"}, "AzureWebJobsStorage__tableServiceUri is 'http://sh"),
        ({"AzureWebJobsStorage__tableServiceUri": "shop.table"}, "Identities need https"),
    ],
)
def test_settings_that_lead_to_no_tables_are_refused_at_start_up(environ: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        table_account(environ, "TEST")


@pytest.mark.behaviour("log.tables-account")
def test_tables_where_nobody_listens_stop_a_developers_app() -> None:
    """As without Azurite's table service. In production the account is waited for."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        environ = {"AzureWebJobsStorage": f"{KEY}TableEndpoint=http://{place}/shop"}

        with pytest.raises(ConfigurationError, match=f"AzureWebJobsStorage names {place}, which cannot be") as met:
            table_account({**environ, **ALONE}, "TEST")

    assert "c2VjcmV0" not in met.value.detail
    table_account({**environ, **ALONE, "WEBSITE_SITE_NAME": "agents"}, "TEST")


@pytest.mark.behaviour("log.tables-account")
def test_each_task_hub_has_a_table_and_a_name_that_is_no_task_hub_is_refused() -> None:
    """The longest is of 45 characters; a table's name takes 63."""
    assert [table_name(hub) for hub in ("AgentHub", "a" * 45)] == ["AgentHubAgentLog", "a" * 45 + "AgentLog"]
    for hub in ("", "a-hub", "1hub", "a" * 46, "hub\n"):
        with pytest.raises(ConfigurationError, match="must be 3 to 45 of the characters"):
            table_name(hub)
