"""The files of agent-framework's providers, kept with the thread."""
