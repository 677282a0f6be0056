"""Budgets and limits: what runs, threads and callers may use of a model, and how many requests are accepted."""
