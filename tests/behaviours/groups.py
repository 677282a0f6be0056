"""What an app in groups promises: HTTP hosts, a durable one and the timers', each a process."""

BEHAVIOURS = {
    "groups.durable-absent": "What an HTTP host accepts while the durable host is absent is done when that comes.",
    "groups.durable-killed": "HTTP hosts do not notice that the durable host was killed in the middle of a run: they "
    "accept requests meanwhile, which are answered when it is back, in the thread's order.",
    "groups.one-start": "An instance id that two HTTP hosts start at once is one instance: one is told 202, one 409.",
    "groups.helper-leaves-nothing": "The tests' helper ends all hosts of an app with the test, and with a start that "
    "fails, and shows what they printed.",
    "groups.helper-balances": "The tests' balancer gives requests to HTTP hosts by turns, and passes streams at once.",
    "groups.any-host": "The endpoint tests run against an app in groups over tables, and where the run explores over "
    "each log that processes may share; what fails there is named, and what begins to pass is taken off that list.",
    "groups.versions": "A process that meets a thread on which a newer version of the code works answers 503 with "
    "Retry-After at each door and appends nothing; its entity asks for redelivery, and goes on once it is updated.",
    "storm.killed": "While any of three processes is killed at any time, each turn is answered once and with its own "
    "answer, each charge made once at most, each conversation what succeeded in its order, each 202 done without "
    "anybody asking again, and what was deleted stays so.",
    "storm.frozen": "A process that was stopped past its lease, and goes on, changes nothing of that.",
    "storm.clocks": "Nor do processes whose wall clocks are an hour apart.",
    "storm.durable-absent": "Nor does it that the durable process is away for a while; callers get their answers.",
    "storm.two-durable": "Nor does it that one of two durable processes is killed and the other one follows it, nor is "
    "an orchestration lost or its charge made twice.",
    "storm.account": "Nor does it that the storage account drops, delays and refuses a share of all requests while "
    "processes are killed.",
}
