"""What is promised of skills (docs/guides/tools.md)."""

BEHAVIOURS = {
    "skills.deployed": "A skill's folder is deployed with all that is in it, wherever in the app it lies.",
}
