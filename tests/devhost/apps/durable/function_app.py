"""An async entity on a generic trigger, an orchestration with an activity, and HTTP functions with durable clients."""

import asyncio
import json

import azure.durable_functions as df
import azure.functions as func

app = df.DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="notes/{key}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def write(req: func.HttpRequest, client) -> func.HttpResponse:
    await client.signal_entity(df.EntityId("notes", req.route_params["key"]), "write", req.get_body().decode())
    return func.HttpResponse(status_code=202)


@app.route(route="notes/{key}", methods=["GET"])
@app.durable_client_input(client_name="client")
async def read(req: func.HttpRequest, client) -> func.HttpResponse:
    """Answer the notes once there are as many as asked for."""
    wanted = int(req.params["count"])
    while True:
        state = await client.read_entity_state(df.EntityId("notes", req.route_params["key"]))
        notes = state.entity_state or []
        if len(notes) >= wanted:
            return func.HttpResponse(json.dumps(notes), mimetype="application/json")
        await asyncio.sleep(0.02)


@app.function_name("notes")
@app.generic_trigger(arg_name="context", type="entityTrigger", entityName="notes")
async def notes(context) -> str:
    batch = json.loads(context.body)
    state = json.loads(batch["state"]) if batch.get("exists") and batch.get("state") else []
    results = []
    for operation in batch["batch"]:
        text = json.loads(json.loads(operation["input"])) if operation.get("input") else ""
        print(f"writing {text}", flush=True)
        if text == "slow":
            await asyncio.sleep(0.5)
        state.append(text)
        results.append({"isError": False, "duration": 0, "startTime": 0, "result": "null"})
    return json.dumps({"entityExists": True, "entityState": json.dumps(state), "results": results, "signals": []})


@app.orchestration_trigger(context_name="context")
def greet_all(context: df.DurableOrchestrationContext):
    names = context.get_input()["names"]
    return (yield context.task_all([context.call_activity("greet", name) for name in names]))


@app.activity_trigger(input_name="name")
def greet(name: str) -> str:
    return f"hello {name}"
