"""What is promised of skills (docs/guides/tools.md)."""

BEHAVIOURS = {
    "skills.deployed": "A skill's folder is deployed with all that is in it, wherever in the app it lies.",
    "skills.scripts": "A script of a skill is recorded as a tool's call is: given again after a kill, and run again "
    "only if it, its runner, its skill or its provider is declared idempotent.",
    "skills.read-again": "A skill that was being loaded or read when its process died is read again.",
    "skills.threads": "A synchronous script of a skill runs in a thread, as a synchronous tool does.",
}
