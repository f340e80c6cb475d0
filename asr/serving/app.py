"""The application: routes, errors in one line, and the gate before everything."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from asr.serving.bodies import BoundedBodies
from asr.serving.gate import Gate
from asr.serving.listening import listening_routes
from asr.serving.pages import page_routes
from asr.serving.recognition import recognition_routes
from asr.serving.refusals import NOT_FOUND, TOO_SLOW, UNUSABLE, Refusal
from asr.serving.state import Server
from asr.serving.studio import studio_routes
from asr.version import package_version
from foundation.errors import AsrError

logger = logging.getLogger(__name__)
INTERNAL = 500
_NOWHERE = (NOT_FOUND, 405)  # another method, too
_ABOUT = (
    'Recordings are the body of a request. Errors are {"error": one line}. Words while one speaks: the '
    "WebSocket /api/listen, which this description cannot hold; docs/howto/live.md says how it is used."
)


def application(server: Server, host: str = "127.0.0.1") -> FastAPI:
    """Return the application of a server that listens at an address."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with server.lifespan():
            yield

    app = FastAPI(
        title="asr",
        version=package_version(),
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.include_router(page_routes())
    app.include_router(recognition_routes(server))
    app.include_router(studio_routes(server))
    app.include_router(listening_routes(server))
    _say_errors(app, server)
    app.add_middleware(BoundedBodies, limits=server.limits)
    app.add_middleware(Gate, host=host)
    return app


def _say_errors(app: FastAPI, server: Server) -> None:
    """Answer errors with one line of JSON."""

    def line(text: str, status: int) -> JSONResponse:
        # Who is too slow may go on sending for ever; what he sends is not read.
        headers = {"Connection": "close"} if status == TOO_SLOW else None
        return JSONResponse({"error": server.plain(" ".join(text.split()))}, status, headers)

    @app.exception_handler(AsrError)
    async def ours(request: Request, error: AsrError) -> JSONResponse:
        return line(str(error), error.status if isinstance(error, Refusal) else UNUSABLE)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        cure = "; expected an address that /openapi.json names" if error.status_code in _NOWHERE else ""
        return line(f"{error.detail}{cure}", error.status_code)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return line(f"{where}: {first['msg']}; /openapi.json says what is expected", UNUSABLE)

    @app.exception_handler(OSError)
    async def storage(request: Request, error: OSError) -> JSONResponse:
        logger.error("%s %s: %s", request.method, request.url.path, error)
        return line(
            f"the server's disk: {error.strerror or 'error'}; make room, or start it elsewhere", INTERNAL
        )

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> JSONResponse:
        return line("an error of the server; its terminal says more", INTERNAL)
