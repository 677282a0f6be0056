"""What the app promises of workflows, agent-framework's graphs and functions (docs/guides/workflows.md)."""

BEHAVIOURS = {
    "workflows.run": "A workflow is run by POST workflows/NAME/run: what its executors yield is the answer.",
    "workflows.input": "What a workflow is given is checked against the types of its start executor before it begins.",
    "workflows.values": "What an executor yields that is no text is the run's value, and its JSON text.",
    "workflows.thread": "A workflow whose start executor takes messages is given its thread's conversation.",
    "workflows.one-voice": "Executors that answer at the same time are heard one after the other.",
    "workflows.failures": "An executor that raises ends its run as failed, and its text reaches no caller.",
    "workflows.verbs": "Cancel, time limit, idempotency keys, streams and thread routes are those of agents.",
    "workflows.survives-kill": "A killed workflow continues behind its last superstep: nothing before that is done "
    "again, and no recorded call of an agent in the one that was under way.",
    "workflows.builders": "The ready-made workflows of agent-framework-orchestrations are served, and survive a kill.",
    "workflows.given-graph": "A workflow may be given as one graph: each run has a copy, which shares agents alone.",
    "workflows.named": "A workflow without a name of its own has the one under which the app is given it.",
    "workflows.costs": "A superstep is one storage call, and two where its checkpoint has more than 64 KiB.",
    "workflows.formats": "An agent of a workflow may answer in a format that is a type of Pydantic (workflows.md).",
    "workflows.changed": "A run that began with another graph or framework ends as workflow_changed.",
    "workflows.checkpoint-kept": "A run whose state after a superstep cannot be kept or read again stops there.",
    "workflows.upstream": "Clients of agent-framework-azurefunctions run a workflow and ask for it by their routes "
    "and names.",
    "workflows.asks": "What an executor asks a person waits with its run, is checked against the schema of its answer, "
    "and is answered once; the workflow continues from there.",
    "workflows.asks-survives-kill": "Killed before or after a question or its answer, a workflow asks once and loses "
    "nothing.",
    "workflows.executors": "What each executor did in a superstep is in the run's stream and timeline, in a workflow "
    "within too.",
    "workflows.at-work": "Executors that are at work, or have failed, are in their run's stream and timeline; a "
    "superstep costs no more for it.",
    "workflows.graph": "The executors of a workflow, and how they are connected, are listed with it.",
    "workflows.tells-where": "An executor knows the URL at which a person answers what it asks.",
    "workflows.as-agent": "A workflow that is given as an agent (as_agent()) is one to its callers, does what it "
    "does plain, and keeps its state with the thread (workflows.md).",
    "workflows.refused": "What cannot be hosted as a workflow is refused at start-up, with what to do.",
    "workflows.functional": "A function with the decorator workflow is run like a graph, and does what it does plain.",
    "workflows.steps": "A function's step is recorded before the next one begins: a killed process continues behind "
    "the last one, and repeats no recorded call of an agent.",
    "workflows.cut-off-steps": "A step that was cut off runs again if it is idempotent; otherwise it ends its run, or "
    "the function is told. One that raised raises again.",
    "workflows.functional-asks": "A function asks a person as a graph does, and has all earlier answers when it "
    "continues.",
    "workflows.incomplete": "An answer of a workflow is incomplete as soon as one that it is made of is.",
}
