"""What the app promises of the document that describes it (http-api.md section 3)."""

BEHAVIOURS = {
    "openapi.true": "Schemathesis finds nothing in any of its phases: every request that the document allows is taken, "
    "every other refused, every answer is as it says (http-api.md 3).",
}
