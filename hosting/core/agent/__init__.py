"""Agents and workflows of the framework, run one attempt at a time with a record of each step."""
