"""How fast the app is on this machine: `python -m benchmarks` (docs/contributing/benchmarks.md)."""
