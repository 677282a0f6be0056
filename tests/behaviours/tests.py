"""What the tests promise of themselves."""

BEHAVIOURS = {
    "tests.rules-executed": "A strict run of all tests counts the rules that tests showed in it, and fails for a rule "
    "whose tests were all skipped, unless they need the recordings that lie beside some checkouts.",
    "tests.skips-listed": "A strict run fails for a skip that the table of allowed skips does not name with a reason.",
    "tests.seeds-printed": "A test that chooses at random says its seed, and can be run again with it.",
    "tests.no-dice": "Two runs of the gate try the same examples, by the same seeds.",
    "tests.explore": "A run that explores has new seeds, more examples, and the tests that are too long for the gate.",
    "tests.once-more": "What failed in CI is tried once more, alone. What passes then is named, and more than three "
    "of them fail the run.",
    "tests.no-seconds": "No test outside the benchmarks compares how long something took with a number of seconds.",
    "tests.framework-samples": "Samples of agent-framework are hosted as they are, asked once, and once through a "
    "kill, and a table says what came of each.",
    "tests.mirror": "The tests of hosting/ stand by its packages, and what several rooms of tests share stands in one "
    "place.",
}
