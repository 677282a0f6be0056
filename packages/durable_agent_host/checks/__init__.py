"""What `durable-agent-host check` looks at: a module for each kind of file, a function for each check."""
