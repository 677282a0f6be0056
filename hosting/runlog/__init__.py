"""Backends of the run log: the append-only record of what happened in one run."""
