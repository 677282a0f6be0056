"""The wire `a2a`: the Agent2Agent protocol 1.0 as JSON-RPC over HTTP, served to its official clients."""
