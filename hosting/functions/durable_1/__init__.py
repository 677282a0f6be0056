"""What `functions.durable` needs of the Durable Functions SDK, by its version 1.7."""
