"""The services that the pack can speak to, a file for each protocol."""
