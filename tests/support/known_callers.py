"""An app that knows its callers, as a file: whoever says so in `x-user` is signed in, and `root` administers it."""

ISSUER = "https://login.example"
SOURCE = """\
import azure.durable_functions as df
import azure.functions as func
from scripted import scripted_agent

from hosting.app import AgentFunctionApp, Principal


def who(request):
    name = request.headers.get("x-user")
    roles = ("operators",) if name == "root" else ()
    return None if name is None else Principal("ISSUER", name, roles=roles)


app = AgentFunctionApp(agents=[scripted_agent("Joker")], principal=who)


@app.route(route="begin/{thread}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def begin(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    return await app.run_orchestration(req, client, "ask", req.route_params["thread"], wait_seconds=20)


@app.orchestration_trigger(context_name="context")
def ask(context: df.DurableOrchestrationContext):
    joker = app.get_agent(context, "Joker")
    answer = yield joker.run("hello", session=joker.get_session(context.get_input()))
    return answer.text
""".replace("ISSUER", ISSUER)
