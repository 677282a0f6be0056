"""What the durable engine of the local host promises to apps and to whoever kills it."""

BEHAVIOURS = {
    "engine.sdk-scenarios": "Orchestrations, sub-orchestrations, activities, retries, timers, external events, "
    "entities and continue-as-new work through the SDK's own functions (local-host.md, durable engine).",
    "engine.restart-at-every-commit": "An engine that dies at any commit ends every orchestration as it would have "
    "ended without (local-host.md, how it is proved).",
    "engine.entity-state-once": "An entity's state has each operation once, wherever the engine died "
    "(local-host.md, storage).",
    "engine.unkind": "A test that arms a fault of the real engine gets it at that point for that target, and no other.",
    "engine.unkind-seeds": "Whatever the real engine may do by chance, an orchestration ends as it must, and the same "
    "seed does the same.",
    "engine.unkind-app": "On an engine that does by chance what the real one may do, each message has one answer, each "
    "tick one run, and each approved tool one call.",
    "engine.kill-9": "A process killed at any named point, started again, goes on by itself; nothing is lost and "
    "nothing doubled (local-host.md, how it is proved).",
    "engine.overtaken-execution": "An entity's step is refused when its state changed since it was handed out, and its "
    "operations are delivered again with the state of now.",
    "engine.one-process": "A second process on the same folder is refused by a sentence, and a killed one leaves no "
    "lock behind (local-host.md, storage).",
    "engine.groups": "Any number of processes send to one folder's task hub and read it; one works on it, finds what "
    "the others sent by looking, and a second one waits for its end (local-host.md, groups).",
    "engine.one-write-fails-alone": "A step that the file cannot keep fails alone; the steps beside and after it are "
    "kept (local-host.md, storage).",
    "engine.odd-texts": "A text of the app that UTF-8 cannot carry is stored with U+FFFD in its place, wherever it "
    "stands, and stops nothing (local-host.md, how it is proved).",
    "engine.damaged-file": "A file that is damaged inside is told by a sentence with its path, and what can be read of "
    "it goes on (local-host.md, storage).",
    "engine.deleted-texts": "A deleted text leaves the file and its write-ahead log; a reader delays that and stalls "
    "nobody (local-host.md, storage).",
    "engine.versioned-file": "A newer or damaged file is refused by a sentence and left as it is (local-host.md, "
    "storage).",
    "engine.stalls-not-loses": "A busy file stalls work and loses none (local-host.md, storage).",
    "engine.full-disk": "A full disk stalls work with a word in the log, and loses none (local-host.md, storage).",
    "engine.unwritable-folder": "A folder or file that cannot be written at the start is refused by a sentence "
    "(local-host.md, storage).",
    "engine.one-batch-at-a-time": "One invocation at a time per entity; what arrives meanwhile is the next batch, in "
    "the order of sending.",
    "engine.failed-batch-again": "A batch whose invocation failed is delivered again, after 3 s, then after twice as "
    "long each time.",
    "engine.unheard-failures": "An entity's signal that fails is told in the log, because no caller waits for it.",
    "engine.missing-by-name": "A call to a function that the app does not have fails the instance, naming those it "
    "has, where the real host hangs.",
    "engine.open-work": "An instance ends only when no activity, timer or sub-orchestration is open.",
    "engine.suspended": "A suspended instance takes events and carries out nothing until it is resumed, a failure "
    "neither.",
    "engine.terminated": "A terminated instance ends at once, with the reason as its output, whatever its code would "
    "do.",
    "engine.carried-events": "Events raised after continue-as-new was called are for the next execution.",
    "engine.event-loops": "An event that won against a timer is taken once, also when the loser is cancelled and the "
    "orchestrator continues as new; a loop without events waits for its timer.",
    "engine.retry-ids": "Each attempt and each retry timer takes the next id, and a last failure one more timer that "
    "fires at once.",
    "engine.timers-on-time": "A timer never fires early, and fires after a restart too (local-host.md, durable "
    "engine).",
    "engine.long-timers": "A timer of months is one timer, and fires on the second, over restarts (local-host.md, "
    "durable engine).",
    "engine.delayed-signals": "A signal with a time arrives then, over restarts, whatever became of its sender "
    "(local-host.md, durable engine).",
    "engine.clock-back": "A clock that jumps back is told; timers wait for their time by it, and nothing else does "
    "(local-host.md, storage).",
    "engine.id-reuse": "A live instance's id refuses a second start; an ended one's is taken anew, with an empty "
    "history.",
    "engine.restart": "A restart runs the same input again, under a new id, or its own once it has ended.",
    "engine.purge": "A purge forgets what has ended, and nothing that lives.",
    "engine.children": "A failed or terminated sub-orchestration fails its call; children of an ended parent run on; "
    "an id that is taken is refused by name.",
    "engine.wire-shapes": "Events, triggers and request messages have the recorded keys in the recorded order (host "
    "contract 3.2, 3.4, 3.9).",
    "engine.rewind": "A rewound instance repeats what failed, its failed sub-orchestrations' failures included, and "
    "nothing that had succeeded.",
    "engine.rewind-retries": "Of a call with a retry policy that ran out, a rewind repeats the last attempt, beside "
    "others and in sub-orchestrations too, where the real host fails the instance (docs/contributing/"
    "recorded-exchanges.md).",
    "engine.call-http": "call_http makes one request, as an activity of the engine's own, and hands over whatever is "
    "answered.",
    "engine.custom-status-limit": "A custom status of more than 16 KB of UTF-16 fails the instance.",
    "engine.random-programs": "Programs made at random end as they must, plain and with the engine killed at random "
    "commits, each side effect recorded once (local-host.md, how it is proved).",
    "engine.random-kills": "A process killed at random, again and again, loses nothing, doubles nothing and goes on "
    "within 2 s (local-host.md, how it is proved).",
    "engine.versions": "An instance started with a version newer than the host's stays Pending and the log says why; "
    "older ones run, and tell their code.",
    "engine.management-api": "The management API answers with the recorded statuses, headers and bodies.",
    "engine.protobuf": "The client and the replay of the Durable Task SDK, the ground of 2.x, work against it.",
    "engine.locks": "A critical section has its entities alone; others wait their turn, and a kill frees nothing.",
    "engine.workers": "Workers of the Durable Task SDK work for the engine; what a lost one had goes to another.",
    "engine.sdk-client": "The SDK's durable client works against it over a socket.",
    "engine.own-client": "The app's own durable client is answered in the host's process, as it would be over HTTP.",
    "engine.memory": "Finished work and idle instances leave nothing in memory but a bounded cache (local-host.md, "
    "speed).",
    "engine.store-contract": "Every store keeps a step whole or not at all, in order "
    "(devhost/durable/store/contract.py).",
    "engine.settings": "Wrong values under extensions.durableTask are refused, naming the setting, the value and what "
    "is accepted.",
    "engine.drains": "A stopping engine begins nothing new, lets running work end, and leaves the rest to the next "
    "start (local-host.md, commands).",
    "engine.explains-itself": "Instances, entities, pending messages, timers and history can be read as text, from the "
    "running engine and beside it from the file, and each step in the log, without the app's values (local-host.md, "
    "how it is proved).",
}
