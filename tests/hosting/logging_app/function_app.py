"""An app whose agent logs wherever it can."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable

import azure.functions as func
from agent_framework import Agent, AgentContext, AgentResponse, AgentResponseUpdate, agent_middleware

from hosting.app import AgentFunctionApp
from hosting.features.callbacks.callbacks import AgentCallbackContext
from tests.support.app.scripted import ScriptedClient, meet

log = logging.getLogger("shop")


@agent_middleware
async def between(context: AgentContext, call_next: Callable[[], Awaitable[None]]) -> None:
    """Log what is asked."""
    log.info("middleware of %s", context.messages[-1].text)
    await call_next()


async def waits() -> str:
    """Wait for another run."""
    log.warning("async tool begins")
    await asyncio.create_task(child())
    await meet(2)
    log.warning("async tool goes on")
    return "waited"


async def child() -> None:
    """Log in a task."""
    log.info("child of the async tool")


def works() -> str:
    """Log in a thread of the library's."""
    log.warning("sync tool in %s", threading.current_thread().name)
    return "worked"


def fails() -> str:
    """Raise."""
    raise RuntimeError("the till is broken")


def alone() -> str:
    """Log in a thread of its own."""
    thread = threading.Thread(target=log.warning, args=("a thread of the tool's own",))
    thread.start()
    thread.join()
    return "alone"


class Heard:
    """A callback, the end of which is synchronous."""

    async def on_streaming_response_update(self, update: AgentResponseUpdate, context: AgentCallbackContext) -> None:
        """Hear a word."""

    def on_agent_response(self, response: AgentResponse, context: AgentCallbackContext) -> None:
        """Log that the run has ended."""
        log.info("callback of %s", context.thread_id)


tools = [waits, works, fails, alone]
log.info("imported")
app = AgentFunctionApp()
log.info("made")
agent = Agent(ScriptedClient(), "Do as told.", name="Joker", tools=tools, middleware=[between])
app.add_agent(agent, callback=Heard())
app.add_agent(Agent(ScriptedClient(), "Do as told.", name="Other"))


@app.route(route="classic", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
def classic(req: func.HttpRequest) -> str:
    """Log in a thread that the library gives classic handlers."""
    log.info("classic handler")
    return "done"
