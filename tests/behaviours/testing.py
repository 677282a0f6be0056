"""What users of the pytest plugin are promised (docs/guides/testing.md)."""

BEHAVIOURS = {
    "testing.fixtures": "Tests of a user's app ask it over HTTP on a real local host, with answers of the model that "
    "the test wrote, streams, and decisions of a person.",
    "testing.kills": "A test that is marked `killed_at` runs once more for each record of the app's run, whose process "
    "is killed there; a tool that counts twice is found by the name of the step.",
    "testing.new-app": "The plugin comes with the wheel: a new app of ten agents is tested with it, kills and all, "
    "by `python dev.py test`.",
}
