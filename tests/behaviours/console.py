"""What is promised of agents outside Azure Functions."""

BEHAVIOURS = {
    "console.local-hub": "Agents of a worker run on the local host, and what it was asked for outlives its kill.",
    "console.client": "A program calls agents that workers host: one conversation per session, stored as every host "
    "stores it, and one error for a run without an answer.",
    "console.orchestrations": "In orchestrations of a worker of one's own, agents are called as in Azure Functions, "
    "and raise the same error.",
    "console.worker": "A worker takes agents as an app does, and refuses wrong ones at start-up.",
    "console.killed": "A killed worker changes no outcome: another takes its runs over from their logs.",
    "console.log-away": "An operation that cannot begin because the log is away begins when it is back.",
    "console.any-call-fails": "Whichever call of a worker's turn to its log fails, is late, or is done and its answer "
    "lost: the turn ends once, with its own answer, and nothing is doubled.",
    "console.tools": "Tools reach orchestrations from a worker that has a client.",
    "console.moving-over": "A client of the ecosystem's own package reaches agents of this one's worker.",
}
