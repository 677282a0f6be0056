"""JSON from outside: read strictly, checked against a schema, and in a time that is bounded."""
