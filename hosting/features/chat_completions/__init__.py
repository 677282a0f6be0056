"""OpenAI Chat Completions, which most chat front ends speak."""
