"""The HTTP management API of the durable engine."""
