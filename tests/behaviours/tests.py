"""What the tests promise of themselves."""

BEHAVIOURS = {
    "tests.rules-executed": "A strict run of all tests counts the rules that tests showed in it, and fails for a rule "
    "whose tests were all skipped.",
    "tests.skips-listed": "A strict run fails for a skip that the table of allowed skips does not name with a reason.",
    "tests.seeds-printed": "A test that chooses at random says its seed, and can be run again with it.",
    "tests.no-seconds": "No test outside the benchmarks compares how long something took with a number of seconds.",
    "tests.mirror": "The tests of hosting/ stand by its packages, and what several rooms of tests share stands in one "
    "place.",
}
