"""The HTTP side of the local host: routing, request and response conversion, built-in endpoints, the server."""
