"""An app whose functions ask for keys, with a durable client, a tool and a timer."""

import azure.durable_functions as df
import azure.functions as func

app = df.DFApp()


@app.route(route="open", auth_level=func.AuthLevel.ANONYMOUS)
def anonymous(req: func.HttpRequest) -> str:
    return "open"


@app.route(route="closed", auth_level=func.AuthLevel.FUNCTION)
def closed(req: func.HttpRequest) -> str:
    return "closed"


@app.route(route="other", auth_level=func.AuthLevel.FUNCTION)
def other(req: func.HttpRequest) -> str:
    return "other"


@app.route(route="masters", auth_level=func.AuthLevel.ADMIN)
def masters(req: func.HttpRequest) -> str:
    return "masters"


@app.route(route="start", auth_level=func.AuthLevel.ANONYMOUS)
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    return client.create_check_status_response(req, await client.start_new("hello", "one"))


@app.orchestration_trigger(context_name="context")
def hello(context: df.DurableOrchestrationContext):
    return "hello"
    yield


@app.timer_trigger(arg_name="timer", schedule="0 0 0 1 1 *")
def yearly(timer: func.TimerRequest) -> None:
    print("a year is over", flush=True)
