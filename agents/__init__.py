"""The agents of this app: plain agent-framework code, yours to edit."""
