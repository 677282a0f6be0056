"""OpenAI Responses and Conversations: its requests, its objects and events as folds of the log, and its verbs."""
