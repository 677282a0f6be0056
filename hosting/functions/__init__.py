"""Azure Functions: the triggers and bindings of the app."""
