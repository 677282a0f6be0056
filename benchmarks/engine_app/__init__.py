"""An app of durable functions alone, for what the local host's engine costs."""
