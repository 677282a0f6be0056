"""What the app promises to orchestrations that call its agents."""

BEHAVIOURS = {
    "orchestrations.conversation": "Runs with one session are one conversation, and runs without are each their own "
    "(design.md 1).",
    "orchestrations.fan-out": "Runs yielded together by task_all run at once and answer in the order of the list "
    "(design.md 4).",
    "orchestrations.structured": "With a response_format the value decides: a pydantic model's instance, or the JSON "
    "value (turn.md, Decisions).",
    "orchestrations.person": "A person's event answers an orchestration that waits for one, and a timer answers it "
    "when none comes (design.md 1).",
    "orchestrations.failed-run": "A run that ends without an answer raises in the orchestrator an error that names "
    "agent, run and cause; left alone it fails the orchestration (design.md 4).",
}
