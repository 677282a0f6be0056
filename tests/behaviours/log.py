"""What a store of threads' logs promises (thread-log.md, Stores): one suite over all of them shows it."""

BEHAVIOURS = {
    "log.addresses": "Each thread has an address of its own, whatever characters its id has and in whichever letter "
    "case its agent is named.",
    "log.limits": "An append over the limits of the smallest store is refused before any store sees it.",
}
