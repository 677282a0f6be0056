"""AG-UI: its requests, its events as a fold of the log, and the one verb that it has."""
