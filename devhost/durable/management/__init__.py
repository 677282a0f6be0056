"""The HTTP management API of the durable engine (host contract 4)."""
