"""The threads' log, pure: what can happen, what is decided on it, and the conversation that it makes."""
