"""A chat client without a model, for the first minutes on a laptop and for tests."""
