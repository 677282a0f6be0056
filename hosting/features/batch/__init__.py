"""Many requests for runs in one: each begins a run of its own, and all are answered together."""
