"""What the app promises of the document that describes it."""

BEHAVIOURS = {
    "openapi.true": "Schemathesis finds nothing in any of its phases: every request that the document allows is taken, "
    "every other refused, every answer is as it says.",
    "openapi.exact": "The document has exactly the routes that the app has registered, with the schemas that they use "
    "and links that a client can follow, at the address by which it was asked, and says which of them ask for a key.",
    "openapi.parameters": "Each part of a path that a caller chooses is a parameter of its operation, whatever the app "
    "has.",
    "openapi.wires": "The wires that the app names are in the document, with their bodies and refusals, and "
    "schemathesis finds nothing there either.",
    "openapi.limit-headers": "The answers of routes that begin runs have the RateLimit headers where an agent has a "
    "limit, those of the wires too, exactly where they are sent (issue 51).",
    "openapi.limits": "The document has the limits that the app's settings and agents set.",
    "openapi.generates": "The clients that four generators make of the document fit its types, make a run and "
    "answer an approval (docs/reference/http-routes.md).",
    "openapi.complete": "Every field, header and error code of the contract is in the document.",
}
