"""What the tests' own storage account promises: the proxy before the emulator, and the count of calls by its log."""

BEHAVIOURS = {
    "storage.proxy-passes": "The proxy before the storage emulator passes every request and answer byte for byte.",
    "storage.faults": "Each fault of the proxy is seen by the real clients as the account's own: an answer that is "
    "lost or a failure after the commit, a busy account, a part of a batch that fails, a page that is cut short or "
    "empty, a slow or silent account, one that is away.",
    "storage.redis-proxy": "The proxy before a Redis server passes each command and answer byte for byte, and each of "
    "its faults is seen by the real client as a broken connection, before or behind what was asked, or a late answer.",
    "storage.faults-fire": "A fault that was set and never fired fails the test that set it.",
    "storage.table-limits": "An entity or a batch above the limits of Azure Tables is refused as Azure does, which the "
    "emulator does not.",
    "storage.calls-counted": "Storage calls are counted by the emulator's log, by service, container and kind; where "
    "they cannot be counted that is said, with the reason, and no bar is reached.",
}
