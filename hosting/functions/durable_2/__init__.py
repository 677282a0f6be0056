"""What `functions.durable` needs of the Durable Functions SDK, by its version 2.x."""
