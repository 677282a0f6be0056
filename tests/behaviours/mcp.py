"""What a caller over MCP is promised."""

BEHAVIOURS = {
    "mcp.answers": "Each agent is a tool that answers in text and in structured content with the ids.",
    "mcp.output-schema": "A tool announces the schema of what it gives, with `value` where the agent has a format of "
    "its own, which is checked (docs/reference/mcp.md).",
    "mcp.continues": "A call that names a thread goes on with its conversation, whichever door began it.",
    "mcp.failed-run": "A run that failed, or outlives the wait, is a tool error in our words.",
    "mcp.bad-arguments": "An ill-typed argument or bad thread id is a tool error that names it.",
    "mcp.no-way-back": "A tool call has one result: no progress before it, and a client that leaves stops its wait, "
    "not the run.",
    "mcp.names": "A tool's, prompt's or resource's name belongs to one function; a second one is refused at start-up.",
    "mcp.key": "A host that asks for keys opens its MCP endpoint to the extension's system key and the master key.",
    "mcp.options": "An agent has its own switch, name and description as a tool; two tools of one name are refused at "
    "start-up.",
    "mcp.agent-options": "A tool's runs count for the budget of its agent, and its webhook is notified of their ends.",
    "mcp.page": "The page about MCP shows the arguments, options and results that there are (docs/reference/mcp.md).",
    "mcp.conformance": "The template's app passes the protocol's conformance suite, but for a list with reasons "
    "(docs/reference/mcp.md).",
    "mcp.inspector": "The MCP Inspector's command line works with the template's app, but for a list with reasons "
    "(docs/reference/mcp.md).",
    "mcp.resources": "The local host lists and reads an app's MCP resources as the extension does.",
    "mcp.prompts": "The local host lists and gives an app's MCP prompts as the extension does.",
    "mcp.incomplete": "A result says in text and in structure that its answer is no whole one.",
}
