"""The application: which path leads to which call."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.serve.calls import CALLS, Call
from neardup.serve.http import metrics
from neardup.serve.http.call_bodies import decoded, read_body, require_type
from neardup.serve.http.guard import Guard, respond
from neardup.serve.http.openapi import document, page
from neardup.serve.http.service import Service
from neardup.serve.http.streaming import ListEndpoint, QueryStreamEndpoint, StreamEndpoint


class Endpoint:
    """A call with a body and an answer of JSON."""

    def __init__(self, call: Call, service: Service) -> None:
        self._call, self._service = call, service
        self._decoder = None if call.asked is None else msgspec.json.Decoder(call.asked)
        self._encode = msgspec.json.Encoder().encode

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = None
        if self._decoder is not None:
            require_type(scope)
            asked = decoded(self._decoder, await read_body(scope, receive, self._service.limits))
        answer = await self._service.answer(self._call, asked)
        await respond(send, 200, self._encode(answer))


def made_app(service: Service) -> ASGIApp:
    """Return the application of a process that answers."""

    async def alive(request: Request) -> Response:
        return JSONResponse({"alive": True})

    async def ready(request: Request) -> Response:
        if reason := service.unready:
            return JSONResponse({"ready": False, "reason": reason}, 503)
        return JSONResponse({"ready": True})

    async def numbers(request: Request) -> Response:
        sizes = await service.sizes() if service.is_open else {}
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(metrics.text(sizes), media_type=kind)

    async def openapi(request: Request) -> Response:
        return Response(document(), media_type="application/json")

    async def readable(request: Request) -> Response:
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return Response(page(), media_type="text/html; charset=utf-8", headers=policy)

    routes = [
        *(
            Route(
                f"/v1/{call.name}",
                Endpoint(call, service),
                methods=["GET" if call.asked is None else "POST"],
            )
            for call in CALLS
        ),
        Route("/v1/stream", StreamEndpoint(service), methods=["POST"]),
        Route("/v1/stream/query", QueryStreamEndpoint(service), methods=["POST"]),
        Route("/v1/ids", ListEndpoint(service, "ids"), methods=["GET"]),
        Route("/v1/buckets", ListEndpoint(service, "buckets"), methods=["GET"]),
        Route("/healthz", alive),
        Route("/readyz", ready),
        Route("/metrics", numbers),
        Route("/openapi.json", openapi),
        Route("/", readable),
    ]
    # Not within the application class of the library, which would answer errors by itself.
    return Guard(Router(routes, redirect_slashes=False), service.settings, service.metrics)
