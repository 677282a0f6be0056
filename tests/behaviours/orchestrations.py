"""What the app promises to orchestrations that call its agents."""

BEHAVIOURS = {
    "orchestrations.tools": "A tool starts an orchestration once, however often its call is made, asks how it stands "
    "and sends it events; what cannot be sent is refused.",
    "orchestrations.new-agent": "A call of an agent that an instance does not have yet waits, wherever its episodes "
    "and operations are executed, and is one run; one that nobody has fails by its name (docs/guides/redeploying.md).",
    "orchestrations.conversation": "Runs with one session are one conversation, and runs without are each their own.",
    "orchestrations.response": "A run's task gives agent-framework's response as the agent gave it: contents, value, "
    "usage, finish reason.",
    "orchestrations.fan-out": "Runs yielded together by task_all are asked at once and answer in the list's order.",
    "orchestrations.structured": "With a response_format the value decides: a pydantic model's instance, or the JSON "
    "value (docs/guides/orchestrations.md).",
    "orchestrations.person": "A person's event answers an orchestration that waits for one, and a timer answers it "
    "when none comes.",
    "orchestrations.failed-run": "A run that ends without an answer raises in the orchestrator an error that names "
    "agent, run and cause; left alone it fails the orchestration.",
    "orchestrations.once": "A killed host changes no outcome of an orchestration, and no answer that is recorded is "
    "asked for again.",
    "orchestrations.repeated-episode": "An episode whose messages were sent and whose history was not written makes "
    "the same ids again: a call is one run, also of what continues as new and of sub-orchestrations "
    "(docs/guides/orchestrations.md).",
    "orchestrations.run-id": "The run ids are the orchestration's: a replay makes the same ones, and the run is found "
    "over HTTP under it.",
    "orchestrations.run-id-reused": "Another request under the id of a run that the thread has is refused at once and "
    "leaves nothing; of a signal one line of the log says so, with agent, thread, run and code. An orchestration's "
    "call is known by its id alone.",
    "orchestrations.refused-at-the-call": "A wrong call is refused where it is made, by a sentence, and nothing is "
    "sent.",
    "orchestrations.message": "One message or several keep their roles and contents; one that no request can hold is "
    "refused (docs/contributing/decisions.md).",
}
