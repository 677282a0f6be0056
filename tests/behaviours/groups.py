"""What an app in groups promises: HTTP hosts, a durable one and the timers', each a process."""

BEHAVIOURS = {
    "groups.durable-absent": "What an HTTP host accepts while the durable host is absent is done when that comes.",
    "groups.durable-killed": "HTTP hosts do not notice that the durable host was killed in the middle of a run: they "
    "accept requests meanwhile, which are answered when it is back, in the thread's order.",
    "groups.one-start": "An instance id that two HTTP hosts start at once is one instance: one is told 202, one 409.",
    "groups.helper-leaves-nothing": "The tests' helper ends all hosts of an app with the test, and with a start that "
    "fails, and shows what they printed.",
    "groups.helper-balances": "The tests' balancer gives requests to HTTP hosts by turns, and passes streams at once.",
    "groups.any-host": "The endpoint tests run against an app in groups over each log that processes may share; what "
    "fails there is named, and what begins to pass is taken off that list.",
}
