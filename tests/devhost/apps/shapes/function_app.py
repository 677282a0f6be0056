"""One function of every trigger and binding shape that the local host runs, and some that it names only."""

# The worker reads typing's own generics only.
# ruff: noqa: UP006, UP035

import logging
from typing import Any, Dict, List

import azure.durable_functions as df
import azure.functions as func

app = df.DFApp(http_auth_level=func.AuthLevel.FUNCTION)
blueprint = df.Blueprint()


@app.route(route="shapes/{name:alpha?}", methods=["GET", "POST"])
def http_response(req: func.HttpRequest) -> func.HttpResponse:
    body = f"{req.method} {req.route_params.get('name')} {req.params.get('q')} {req.get_body().decode()}"
    return func.HttpResponse(body, status_code=201, headers={"X-Shape": "1"}, mimetype="text/html")


@app.route(route="text", auth_level=func.AuthLevel.ANONYMOUS)
def http_text(req: func.HttpRequest) -> str:
    return "text"


@app.function_name("http-generic")
@app.generic_trigger(arg_name="req", type="httpTrigger", route="generic", authLevel="anonymous")
@app.generic_output_binding(arg_name="$return", type="http")
def http_generic(req: func.HttpRequest) -> str:
    return "generic"


@app.route(route="context")
def http_context(req: func.HttpRequest, context: func.Context) -> str:
    return f"{context.function_name} {bool(context.invocation_id)}"


@app.route(route="start")
@app.durable_client_input(client_name="client")
async def http_client(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> str:
    return "started"


@app.route(route="fails")
def http_fails(req: func.HttpRequest) -> str:
    raise ValueError("a bad request")


@app.orchestration_trigger(context_name="context", orchestration="Named")
def orchestrator(context: df.DurableOrchestrationContext):
    answer = yield context.call_activity("echo", {"a": 1})
    return answer


@app.activity_trigger(input_name="value")
def echo(value: Any) -> Any:
    return value


@app.activity_trigger(input_name="value", activity="Renamed")
async def activity_async(value: Dict[str, int]) -> List[str]:
    return sorted(value)


@app.activity_trigger(input_name="value")
def activity_fails(value: str) -> str:
    raise KeyError(value)


@app.activity_trigger(input_name="value")
def activity_unsendable(value: str) -> object:
    return object()


@blueprint.activity_trigger(input_name="value")
def activity_of_a_blueprint(value: int) -> int:
    return value + 1


@app.entity_trigger(context_name="context", entity_name="Counter")
def entity(context: df.DurableEntityContext) -> None:
    context.set_state(context.get_state(lambda: 0) + 1)


@app.function_name("entity_generic")
@app.generic_trigger(arg_name="context", type="entityTrigger", entityName="raw")
async def entity_raw(context) -> str:
    return '{"entityExists": false, "entityState": null, "results": [], "signals": []}'


@app.timer_trigger(arg_name="timer", schedule="0 0 0 1 1 *", run_on_startup=False, use_monitor=False)
def timer(timer: func.TimerRequest) -> None:
    logging.info("past due: %s", timer.past_due)


@app.mcp_tool_trigger(arg_name="context", tool_name="tool", description="A tool", tool_properties="[]")
def tool(context: str) -> str:
    return f"seen {len(context)}"


@app.mcp_resource_trigger(arg_name="context", uri="shape://one", resource_name="one", mime_type="text/plain")
def resource(context: str) -> str:
    return "the resource"


@app.queue_trigger(arg_name="message", queue_name="q", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="out", queue_name="other", connection="AzureWebJobsStorage")
def queue(message: func.QueueMessage, out: func.Out[str]) -> None:
    out.set(message.get_body().decode())


app.register_functions(blueprint)
