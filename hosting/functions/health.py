"""`GET health`: anonymous, names nothing."""

from __future__ import annotations

import azure.durable_functions as df
import azure.functions as func
from azurefunctions.extensions.http.fastapi import JSONResponse, Request, Response


def register_health(app: df.DFApp) -> None:
    """Register the function `health_check` on the route `health`."""

    async def health(req: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    app.function_name("health_check")(
        app.route(route="health", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)(health)
    )
