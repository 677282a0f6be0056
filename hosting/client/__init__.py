"""An agent of a running app, called over HTTP as a plain agent of agent-framework."""
