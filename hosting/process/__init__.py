"""The process around the agents: where it runs, its limits, its log and traces, its end."""
