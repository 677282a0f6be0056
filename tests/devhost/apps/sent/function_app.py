"""Functions of services that no laptop has; each prints the message that it is given."""

from __future__ import annotations

import json
from typing import List  # noqa: UP035 - as the worker's documentation has it

import azure.functions as func

app = func.FunctionApp()


def show(name: str, **values: object) -> None:
    print(f"{name} {json.dumps(values, default=str)}", flush=True)


@app.service_bus_queue_trigger(arg_name="msg", queue_name="orders", connection="Bus")
def order(msg: func.ServiceBusMessage) -> None:
    show(
        "order",
        body=msg.get_body().decode(),
        id=msg.message_id,
        session=msg.session_id,
        count=msg.delivery_count,
        number=msg.sequence_number,
        subject=msg.subject,
        properties=msg.application_properties,
        lasts=str(msg.expires_at_utc - msg.enqueued_time_utc),
    )
    if msg.get_body() == b"bad":
        raise ValueError("a bad order")


@app.service_bus_topic_trigger(
    arg_name="msg", topic_name="t", subscription_name="s", connection="Bus", is_sessions_enabled=True
)
async def by_session(msg: func.ServiceBusMessage) -> None:
    show("by_session", session=msg.session_id)


@app.service_bus_queue_trigger(arg_name="msgs", queue_name="q", connection="Bus", cardinality="many")
def orders(msgs: List[func.ServiceBusMessage]) -> None:  # noqa: UP006
    show("orders", all=[[msg.get_body().decode(), msg.message_id, msg.application_properties] for msg in msgs])


@app.service_bus_queue_trigger(arg_name="text", queue_name="q", connection="Bus")
def plain(text: str) -> None:
    show("plain", text=text)


@app.event_grid_trigger(arg_name="event")
def happened(event: func.EventGridEvent) -> None:
    show("happened", id=event.id, type=event.event_type, subject=event.subject, content=event.get_json())


@app.event_hub_message_trigger(arg_name="event", event_hub_name="h", connection="Hub")
def measured(event: func.EventHubEvent) -> None:
    show("measured", body=event.get_body().decode(), number=event.sequence_number, key=event.partition_key)


@app.event_hub_message_trigger(arg_name="events", event_hub_name="h", connection="Hub", cardinality="many")
def measures(events: List[func.EventHubEvent]) -> None:  # noqa: UP006
    show("measures", all=[event.get_body().decode() for event in events])


@app.cosmos_db_trigger(arg_name="docs", connection="Db", database_name="d", container_name="c")
def changed(docs: func.DocumentList) -> None:
    show("changed", all=[dict(document) for document in docs])


@app.route(route="door", auth_level="anonymous")
def door(req: func.HttpRequest) -> str:
    return "open"
