"""An app as those are that come over: the calls of Microsoft's samples 01 to 13, in one file, and their graphs.

The tests put one import line or the other in front of it.
"""

import json
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.functions as func
from agent_framework import Agent, tool
from azure.durable_functions import DurableOrchestrationClient, DurableOrchestrationContext
from moved import AgentCallbackContext, AgentFunctionApp, AgentResponseCallbackProtocol, WorkflowHitlContext
from pydantic import BaseModel
from scripted import ScriptedClient

from tests.support.moved_graphs import URLS, composed, letters

STREAMS: dict[str, list[str]] = {}


class Verdict(BaseModel):
    """What an agent is asked for."""

    is_spam: bool
    reason: str


class Review(BaseModel):
    """What a person answers."""

    approved: bool
    feedback: str = ""


class Collected(AgentResponseCallbackProtocol):
    """Keeps what comes by its session, as a callback that writes into Redis does."""

    async def on_streaming_response_update(self, update: Any, context: AgentCallbackContext) -> None:
        """Take one update."""
        if context.thread_id and update.text:
            STREAMS.setdefault(f"{context.agent_name}/{context.session_id}", []).append(update.text)

    async def on_agent_response(self, response: Any, context: AgentCallbackContext) -> None:
        """Take the end."""
        assert context.correlation_id
        STREAMS.setdefault(f"{context.agent_name}/{context.session_id}", []).append(f"[{response.text}]")


@tool(approval_mode="never_require")
def get_weather(location: str = "Seattle") -> dict[str, Any]:
    """Tell the weather."""
    return {"location": location, "temperature": 72}


client = ScriptedClient()
writer = Agent(client=client, name="WriterAgent", instructions="You refine short pieces of text.")
weather = Agent(client=client, name="WeatherAgent", description="Knows the weather.", tools=[get_weather])
stocks = Agent(client=client, name="StockAdvisor", instructions="Check stock prices.")

app = AgentFunctionApp(
    agents=[writer],
    workflows=[letters(), composed(WorkflowHitlContext)],
    enable_health_check=True,
    enable_http_endpoints=False,
    default_callback=Collected(),
    max_poll_retries=100,
)
app.add_agent(weather, enable_http_endpoint=True, enable_mcp_tool_trigger=True)
app.add_agent(stocks, enable_http_endpoint=False, enable_mcp_tool_trigger=True)


@app.orchestration_trigger(context_name="context")
def chaining(context: DurableOrchestrationContext) -> Generator[Any, Any, str]:
    """Run one agent twice on one session."""
    agent = app.get_agent(context, agent_name="WriterAgent")
    session = agent.create_session()
    first = yield agent.run(messages=f"say {context.get_input()}", session=session)
    yield agent.run(messages=f"Improve: {first.text}", session=session)
    refined = yield agent.run("recall", session=session)
    return str(refined.text)


@app.orchestration_trigger(context_name="context")
def concurrency(context: DurableOrchestrationContext) -> Generator[Any, Any, dict[str, str]]:
    """Ask two agents at once."""
    prompt = str(context.get_input())
    agents = [app.get_agent(context, name) for name in ("WriterAgent", "WeatherAgent")]
    found = yield context.task_all([agent.run(messages=prompt, session=agent.create_session()) for agent in agents])
    return {"writer": found[0].text, "weather": found[1].text}


@app.activity_trigger(input_name="reason")
def marked(reason: str) -> str:
    """Mark a letter."""
    return f"Email marked as spam: {reason}"


@app.orchestration_trigger(context_name="context")
def conditionals(context: DurableOrchestrationContext) -> Generator[Any, Any, str]:
    """Go on as a typed answer says."""
    agent = app.get_agent(context, "WriterAgent")
    text = json.dumps({"is_spam": "spam" in str(context.get_input()), "reason": str(context.get_input())})
    answer = yield agent.run(
        messages=f"say {text}", session=agent.create_session(), options={"response_format": Verdict}
    )
    verdict: Verdict = answer.value
    if not verdict.is_spam:
        return "Email sent"
    result = yield context.call_activity("marked", verdict.reason)
    return str(result)


@app.orchestration_trigger(context_name="context")
def approval(context: DurableOrchestrationContext) -> Generator[Any, Any, dict[str, Any]]:
    """Write again until a person agrees."""
    agent = app.get_agent(context, "WriterAgent")
    session = agent.create_session()
    written = yield agent.run(messages=f"say {context.get_input()}", session=session)
    for attempt in range(1, 4):
        context.set_custom_status(f"Requesting human feedback. Iteration #{attempt}.")
        decision = context.wait_for_external_event("HumanApproval")
        timeout = context.create_timer(context.current_utc_datetime + timedelta(hours=72))
        winner = yield context.task_any([decision, timeout])
        assert winner == decision
        timeout.cancel()
        given = decision.result
        review = Review.model_validate(json.loads(given) if isinstance(given, str) else given)
        if review.approved:
            context.set_custom_status("Content published successfully")
            return {"content": written.text, "attempts": attempt}
        written = yield agent.run(messages=f"say {written.text}, {review.feedback}", session=session)
    raise RuntimeError("Content could not be approved.")


@app.route(route="started/{name}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: DurableOrchestrationClient) -> func.HttpResponse:
    """Start an orchestration with the text of the request."""
    instance = await client.start_new(
        orchestration_function_name=req.route_params["name"], client_input=req.get_body().decode()
    )
    base, _, _ = req.url.partition("/api/")
    payload = {"instanceId": instance, "statusQueryGetUri": f"{base}/api/status/{instance}"}
    return func.HttpResponse(body=json.dumps(payload), status_code=202, mimetype="application/json")


@app.route(route="status/{instanceId}", methods=["GET"])
@app.durable_client_input(client_name="client")
async def status(req: func.HttpRequest, client: DurableOrchestrationClient) -> func.HttpResponse:
    """Say how an orchestration stands."""
    found = await client.get_status(req.route_params["instanceId"], show_input=True)
    shown = {"runtimeStatus": found.runtime_status.name, "custom": found.custom_status, "output": found.output}
    return func.HttpResponse(body=json.dumps(shown), status_code=200, mimetype="application/json")


@app.route(route="approve/{instanceId}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def approve(req: func.HttpRequest, client: DurableOrchestrationClient) -> func.HttpResponse:
    """Bring a person's answer."""
    review = Review.model_validate(req.get_json())
    await client.raise_event(req.route_params["instanceId"], "HumanApproval", review.model_dump())
    return func.HttpResponse(status_code=202)


@app.function_name("stream")
@app.route(route="agent/stream/{conversation_id}", methods=["GET"])
async def stream(req: func.HttpRequest) -> func.HttpResponse:
    """Give what the callback has of a session."""
    kept = STREAMS.get(f"WeatherAgent/{req.route_params['conversation_id']}", [])
    return func.HttpResponse(json.dumps(kept), mimetype="application/json", headers={"Cache-Control": "no-cache"})


@app.route(route="told", methods=["GET"])
async def told(req: func.HttpRequest) -> func.HttpResponse:
    """Give where an executor told a person to answer."""
    return func.HttpResponse(json.dumps(URLS), mimetype="application/json")
