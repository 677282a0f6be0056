"""`durable-agent-host add`: a new agent, tool, workflow, schedule or trigger of an app, with its test."""
