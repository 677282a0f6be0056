"""A run from its start to its one outcome, and whoever waits for it or follows it."""
