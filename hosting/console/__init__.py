"""A worker and a client of the Durable Task SDK: agents in a process of your own."""
