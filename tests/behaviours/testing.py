"""What users of the pytest plugin are promised (docs/guides/testing.md)."""

BEHAVIOURS = {
    "testing.fixtures": "Tests of a user's app ask it over HTTP on a real local host, with answers of the model that "
    "the test wrote, streams, and decisions of a person.",
    "testing.kills": "A test that is marked `killed_at` runs once more for each record of the app's run, whose process "
    "is killed there; a tool that counts twice is found by the name of the step.",
    "testing.in-process": "By one setting the app runs in the process of its tests, on the same local host: a test may "
    "replace what its code uses, and each test leaves the process as it was.",
    "testing.time": "A test sets the app's time ahead: defaults, schedules, limits of approvals and lives of threads "
    "come due, in either process and across a kill.",
    "testing.walk": "A newcomer adds an agent and a tool to a new app, writes a test by the guide, sees a planted "
    "fault red at its step alone, mends it, and sees green.",
    "testing.new-app": "The plugin comes with the wheel: a new app of ten agents is tested with it, kills and all, "
    "by `python dev.py test`.",
}
