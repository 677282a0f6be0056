"""The cases of `cases.jsonl`, with a check of our own for each answer."""

from agent_framework import evaluator


@evaluator
def is_short(response: str) -> bool:
    """Return whether the answer has at most two sentences."""
    return response.count(". ") <= 1


CASES = "cases.jsonl"
EVALUATORS = [is_short]
