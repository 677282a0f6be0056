"""Background agents: tasks of an agent's `BackgroundAgentsProvider`, each a run on a thread of its own."""
