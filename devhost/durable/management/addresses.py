"""The text that a durable client input binding receives: where to start, watch and change instances (4.2)."""

from __future__ import annotations

from devhost.durable.texts import compact

WEBHOOK_PATH = "/runtime/webhooks/durabletask"
_ID = "INSTANCEID"

# Key and path per address of one instance, in the recorded order; the reply to a start has all but the rewind.
_MANAGEMENT = (
    ("statusQueryGetUri", "", ""),
    ("sendEventPostUri", "/raiseEvent/{eventName}", ""),
    ("terminatePostUri", "/terminate", "reason={text}&"),
    ("rewindPostUri", "/rewind", "reason={text}&"),
    ("purgeHistoryDeleteUri", "", ""),
    ("restartPostUri", "/restart", ""),
    ("suspendPostUri", "/suspend", "reason={text}&"),
    ("resumePostUri", "/resume", "reason={text}&"),
)


def client_binding(base_url: str, rpc_base_url: str, hub_name: str, key: str | None) -> str:
    """Return the binding's text; `base_url` is an origin, `rpc_base_url` is where the SDK's client sends to.

    The SDK 1.x appends paths to it without a slash of its own; for 2.x it ends with the port.
    With a key, each address for clients carries it as `code`.
    """
    code = f"code={key}" if key else ""
    webhooks = base_url.rstrip("/") + WEBHOOK_PATH
    start = f"{webhooks}/orchestrators/{{functionName}}[/{{instanceId}}]"
    binding: dict[str, object] = {
        "taskHubName": hub_name,
        "connectionName": None,
        "creationUrls": {
            "createNewInstancePostUri": f"{start}?{code}" if code else start,
            "createAndWaitOnNewInstancePostUri": f"{start}?timeout={{timeoutInSeconds}}"
            "&pollingInterval={intervalInSeconds}" + _also(code),
        },
        "managementUrls": {"id": _ID} | _urls(webhooks, _ID, hub_name, code),
        "baseUrl": webhooks,
        "requiredQueryStringParameters": code,
        "rpcBaseUrl": rpc_base_url,
        "httpBaseUrl": None,
        "maxGrpcMessageSizeInBytes": None,
        "grpcHttpClientTimeout": None,
    }
    return compact(binding)


def check_status_payload(
    origin: str, instance_id: str, escaped_id: str, hub_name: str, key: str | None
) -> dict[str, str]:
    """Return the body that answers a start; `escaped_id` is the id as it stands in a URL."""
    urls = _urls(origin + WEBHOOK_PATH, escaped_id, hub_name, f"code={key}" if key else "")
    del urls["rewindPostUri"]
    return {"id": instance_id} | urls


def _also(parameter: str) -> str:
    return f"&{parameter}" if parameter else ""


def _urls(webhooks: str, instance_id: str, hub_name: str, code: str) -> dict[str, str]:
    instance = f"{webhooks}/instances/{instance_id}"
    hub = f"taskHub={hub_name}&connection=Storage{_also(code)}"
    return {key: f"{instance}{path}?{query}{hub}" for key, path, query in _MANAGEMENT}
