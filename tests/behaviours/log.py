"""What a store of threads' logs promises: one suite over all of them shows it."""

BEHAVIOURS = {
    "log.addresses": "Each thread has an address of its own, whatever characters its id has and in whichever letter "
    "case its agent is named.",
    "log.limits": "An append over the limits of the smallest store is refused before any store sees it.",
    "log.compare-and-append": "An append is written whole if the thread's head is the one that its writer knew, and "
    "not at all if another came first.",
    "log.gapless": "Events stand at positions without a gap, in the order in which they were appended, with the bytes "
    "that they had.",
    "log.repeated-append": "The same append, given again after its answer was lost, is written once.",
    "log.stale-never-writes": "A writer that knew an older head writes nothing, whatever was trimmed, erased or begun "
    "anew since.",
    "log.rows": "A row is found by its name in one call; one that is to be new refuses its append if it is there.",
    "log.trim": "Trimming takes events and rows up to a position and leaves the head and all that is behind.",
    "log.erase": "Erasing takes events and payloads up to a position; names of rows stay, and a later life is left as "
    "it is.",
    "log.broken-off": "What was broken off in the middle is finished by the next call.",
    "log.forget": "A thread is forgotten only while its head is the known one; then it is as if it had never been.",
    "log.apart": "Two threads share nothing, and nor do two apps on one store.",
    "log.watch": "Who watches a thread is woken by what others append, or told at once that this store cannot.",
    "log.processes": "Processes that race for one thread lose no append and double none.",
    "log.killed-writers": "Of a process that is killed in the middle of appends each is there whole or not at all.",
    "log.away": "A store that is away leaves an append unknown and every other call refused, until it is back.",
    "log.close": "A store that is closed finishes what is under way, and the next call opens it again.",
    "log.ask": "A command is decided on the newest head and appended to it, in two calls for a turn of a new or a "
    "known thread; behind another process's append it is decided again; what a process remembers is bounded and no "
    "authority.",
    "log.unknown": "An append whose outcome the store did not tell is given again until it does, and counts once.",
    "log.reads-again": "A read that fails is tried again within the log's patience, some times: one failed call is no "
    "outage.",
    "log.cells": "A value that several processes change at once loses none of their changes, and a change whose "
    "answer was lost is made once.",
    "log.owner-days": "What an owner uses in a day is counted once for each call, at one place for all processes, "
    "whatever becomes of the store's answers, and begins anew at midnight; a process whose clock is wrong begins no "
    "day for the others (issue 51).",
    "log.owner-minutes": "A caller's requests in a minute are counted once, at one place for all processes: no 60 "
    "seconds have more than the limit, and a refusal asks no store (issue 51).",
    "log.owner-tokens": "What a caller's runs use in a minute is counted once for each call, at one place for all "
    "processes; a request is refused once none are left, until enough have left the minute (issue 51).",
    "log.large": "An event that is too large for the log stands in it by reference, under the thread's epoch, and is "
    "read as if it stood there.",
    "log.tables-account": "The tables are in the account that the Functions host uses; settings that lead to none are "
    "refused at start-up.",
    "log.tables-conflict": "In Azure Tables a refused part of a batch is a conflict by its code, of the head as it "
    "stands.",
    "log.tables-batch": "A batch is sent as the official client of Azure Tables sends it, and counts only where its "
    "answer says so of each part.",
    "log.tables-cause": "What an account refuses for good is unknown to who appends, and its cause is logged once.",
    "log.tables-pages": "A page that the service cuts short, or leaves empty, hides nothing.",
    "log.tables-made": "A table that is missing is made by the call that finds it so, once.",
    "log.tables-calls": "An append is one storage call, and so is a read of a head or a row.",
}
