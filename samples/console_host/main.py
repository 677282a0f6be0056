"""Agents without Azure Functions: an engine, a worker and a client, here in one process."""

import logging
import os
import socket
from collections.abc import Generator
from typing import Any

from agent_framework import Agent
from durabletask.client import TaskHubGrpcClient
from durabletask.task import OrchestrationContext
from durabletask.testing import create_test_backend
from durabletask.worker import TaskHubGrpcWorker

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.console.client import AgentClient
from hosting.console.worker import AgentWorker

Steps = Generator[Any, Any, Any]

logger = logging.getLogger("durabletask")
logger.setLevel(logging.ERROR)  # that a worker stops is a warning to the SDK


def create_worker(address: str) -> AgentWorker:
    """Return the worker with its agent and its orchestration; in an app of your own this is one process, or several."""
    sdk_worker = TaskHubGrpcWorker(host_address=address, logger=logger)
    worker = AgentWorker(sdk_worker)
    worker.add_agent(Agent(client=create_chat_client(os.environ), name="guide", tools=[get_weather]))

    def compare(context: OrchestrationContext, cities: list[str]) -> Steps:
        guide = worker.get_agent(context, "guide")
        session = guide.create_session()
        answers = []
        for city in cities:
            answer = yield guide.run(f"What is the weather in {city}?", session=session)
            answers.append(answer.text)
        return " ".join(answers)

    sdk_worker.add_orchestrator(compare)
    return worker


def talk(address: str) -> None:
    """Ask the agent, and start the orchestration; this is another process."""
    with TaskHubGrpcClient(host_address=address, logger=logger) as hub, AgentClient(hub) as client:
        guide = client.get_agent("guide")
        session = guide.create_session()
        for question in ("What is the weather in Paris?", "Which city did I ask about?"):
            print(guide.run(question, session=session).text)
        started = hub.schedule_new_orchestration("compare", input=["Paris", "Rome"])
        ended = hub.wait_for_orchestration_completion(started, timeout=30)
        print(ended.get_output(str) if ended else "It takes long.")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Talk to a worker over the engine for tests that the SDK ships; a real one is the Durable Task Scheduler."""
    port = free_port()
    engine = create_test_backend(port=port)
    address = f"127.0.0.1:{port}"
    try:
        with create_worker(address):
            talk(address)
    finally:
        engine.stop()


if __name__ == "__main__":
    main()
