"""What the conformance pack promises to who tries a service with it."""

BEHAVIOURS = {
    "conformance.finds": "Every check is red for a service with its fault, says what it saw, and is green for one "
    "without.",
    "conformance.ours": "durable-agent-host passes every check, killed by kill -9 among them.",
    "conformance.fair": "What a service does not offer is not offered, and what was not tried is not tried: neither "
    "fails.",
    "conformance.command": "The command prints a table or JSON, and ends with 0 if nothing failed, 1 if something did, "
    "2 if nothing was tried.",
    "conformance.apart": "The pack imports nothing of the product, and needs httpx alone.",
    "conformance.documented": "Every check, option and adapter stands in docs/guides/conformance.md.",
}
