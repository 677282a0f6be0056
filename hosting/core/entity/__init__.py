"""The thread's entity as Durable Functions knows it, and the proxy that calls it."""
