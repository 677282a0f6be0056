"""Functions on the FastAPI extension's types."""

import asyncio

import azure.functions as func
from azurefunctions.extensions.http.fastapi import JSONResponse, Request, Response, StreamingResponse
from fastapi import HTTPException

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
left = asyncio.Event()


@app.route(route="echo/{name}", methods=["GET", "POST"])
async def echo(req: Request) -> Response:
    body = await req.body()
    return JSONResponse(
        {
            "method": req.method,
            "url": str(req.url),
            "path": dict(req.path_params),
            "query": req.query_params.multi_items(),
            "forwarded": {name: value for name, value in req.headers.items() if name.startswith("x-")},
            "length": len(body),
        }
    )


@app.route(route="results/{kind}")
async def results(req: Request):
    kind = req.path_params["kind"]
    if kind == "raise":
        raise ValueError("not for callers")
    if kind == "refuse":
        raise HTTPException(status_code=418, detail="a teapot")
    return {"dict": {"a": [1]}, "none": None, "text": "t", "number": 5}[kind]


@app.route(route="stream")
async def stream(req: Request) -> StreamingResponse:
    async def chunks():
        for number in range(3):
            yield f"data: {number}\n\n"
            await asyncio.sleep(0)

    return StreamingResponse(chunks(), media_type="text/event-stream")


@app.route(route="endless")
async def endless(req: Request) -> StreamingResponse:
    async def chunks():
        try:
            yield "first\n"
            await asyncio.Event().wait()
        finally:
            left.set()

    return StreamingResponse(chunks())


@app.route(route="left")
async def was_left(req: Request) -> Response:
    await left.wait()
    return Response("the generator was cancelled")


@app.route(route="breaks")
async def breaks(req: Request) -> StreamingResponse:
    async def chunks():
        yield "first\n"
        raise ValueError("not for callers")

    return StreamingResponse(chunks())
