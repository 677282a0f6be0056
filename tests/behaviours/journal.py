"""What a run does not do twice (docs/explanation/why-it-is-safe.md)."""

BEHAVIOURS = {
    "journal.records-steps": "Model answers that call tools, and tool calls at their begin and end, are recorded as "
    "they happen.",
    "journal.nothing-twice": "After a kill at any record, what was recorded is given again and not done again; a tool "
    "is called at most once.",
    "journal.idempotent-tools": "A tool declared idempotent is called again when it was cut short, under the same key.",
    "journal.agents-as-tools": "What an agent does as the tool of another is recorded and given again like the "
    "other's own steps.",
    "journal.clients-without-middleware": "Over a client whose model calls cannot be recorded, tool calls are, and "
    "none is made twice.",
    "journal.mcp-tools": "Tools of MCP servers are replayed as others are; their servers get the call's key, and are "
    "declared idempotent as a whole.",
    "journal.unknown-outcome-told": "By a setting, the model is told that a tool's outcome is unknown, and the run "
    "goes on.",
    "journal.interrupted-result": "A tool call that was cut short and is not made again gets a recorded result that "
    "says so, before the run fails by it or the model is told.",
    "journal.diverged": "A later attempt that does something else ends as run_diverged, and nothing is done twice.",
    "journal.storage-calls": "A step costs one call to the storage account, parallel ones too; a run without steps "
    "none.",
    "journal.erased": "What steps held is gone with their thread.",
    "journal.zombies": "Of two processes that believe they own a run, the one with the newer claim does its steps.",
    "journal.parts": "Loops and injected messages work as plain, also through a kill; a limit of time for tools "
    "holds; a hosted agent can be evaluated (hosting.md).",
    "journal.finish-reasons": "A run that is taken over has the finish reasons that were recorded.",
}
