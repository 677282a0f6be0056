"""What is promised of tools that callers run (docs/guides/client-tools.md)."""

BEHAVIOURS = {
    "client-tools.called": "A call of a caller's tool ends the run with the call, and the thread waits for the result.",
    "client-tools.answered": "The run goes on with the caller's result, whatever JSON it is, or with its error, once.",
    "client-tools.checked": "A result that is not by its schema, or no result at all, is refused with the place in it.",
    "client-tools.mixed": "Calls of the app's tools, of those to approve and of the caller's, all in one answer of the "
    "model, are answered in any order, and each is made once.",
    "client-tools.kept": "A run that goes on has the tools that the request brought.",
    "client-tools.declared": "A tool that an agent only declares is a tool of the caller, in a workflow too.",
    "client-tools.off": "An agent takes tools of callers only where its author says so.",
    "client-tools.refused": "Tools that are none, too many, too large, or named as others are refused by place.",
    "client-tools.survives-kill": "A kill between call, result and end loses neither and gives each result once.",
}
