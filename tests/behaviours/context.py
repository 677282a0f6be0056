"""What is promised of the context of a run and of the filters of threads by metadata (docs/guides/metadata.md)."""

BEHAVIOURS = {
    "context.read": "The context of a run is read by its tools, providers and middleware, and by no model; its owner "
    "exports it, and an erasure leaves nothing of it.",
    "context.carried": "Orchestrations, clients, schedules, workflows and background agents hand a context on.",
    "context.survives-kill": "Each attempt of a run reads the same context, in whichever process.",
}
