"""What OpenAI's clients are promised of the wire `responses` (docs/responses.md)."""

BEHAVIOURS = {
    "responses.named": "The wire is off unless the app names it, and a name that is no wire is refused at start-up.",
    "responses.models": "The agents are the protocol's models.",
    "responses.create": "A response is a run: answered once, read again by its id, failed as a failed response, and "
    "the same under a repeated Idempotency-Key.",
    "responses.input": "Texts, pictures, files, several messages and formats reach the model as on our own routes.",
    "responses.refused": "Each field, value and path that is not served is refused by name in the protocol's shape.",
}
