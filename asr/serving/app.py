"""The server of ``asr serve``: opens a socket and answers on it until a signal ends it.

The application is the routes, the page and its parts (a fixed list of files, read at the start), errors in
one line of JSON, and the gate before everything.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TextIO

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from asr.errors import ConfigError
from asr.formats.model_directories import model_directory
from asr.serving.connections import (
    PATIENCE_S,
    Accepting,
    Plain,
    Talk,
    free_handles,
    limits_within,
    narrow,
    spare_handles,
)
from asr.serving.gate import BoundedBodies, Gate, is_loopback, is_unspecified
from asr.serving.limits import BAD, NOT_FOUND, TOO_SLOW, UNUSABLE, Limits, Refusal
from asr.serving.listening import listening_routes
from asr.serving.recognition import recognition_routes
from asr.serving.state import Served, Server
from asr.serving.studio import studio_routes
from foundation.errors import AsrError
from foundation.version import package_version

logger = logging.getLogger(__name__)

ASSETS = Path(__file__).with_name("assets")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
INTERNAL = 500
STANDARD_ERROR = 2
BACKLOG = 1024  # connections that wait to be accepted
NO_SUCH_METHOD = 405
_ABOUT = (
    'Recordings are the body of a request. Errors are {"error": one line}. Words while one speaks: the '
    "WebSocket /api/listen, which this description cannot hold; docs/howto/live.md says how it is used."
)


def run(
    experiment: Path,
    *,
    model: str | None,
    grammar: str | None,
    reject: bool | None,
    keywords: bool,
    host: str,
    port: int,
    folder: Path,
    limits: Limits,
    when_ready: Callable[[str, bool], None],
) -> None:
    """Serve until a signal ends it. Parameters as of `asr.serve`, none left out."""
    served = Served(experiment, model, grammar, reject=reject, keywords=keywords)
    if has_model(experiment, model):
        served.load()
    with listening_socket(host, port) as listening:
        wanted = limits.with_room()
        held = limits_within(wanted, free_handles(2 * wanted.connections + spare_handles(wanted)))
        if held.connections < wanted.connections:
            logger.warning("%s", narrow(held, wanted))
        if line := warning_of(host):
            logger.warning("%s", line)
        server = uvicorn_server(Server(served, folder, held), host)
        when_ready(address_of(listening, host), served.is_ready)
        with quiet_libraries():
            asyncio.run(server.serve(sockets=[listening]))


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Let nothing but Python write to standard error: libmpg123 has a line for each damaged frame of an MP3.

    Whoever sends such recordings would fill the disk that keeps what the server says. A crash is told still.
    """
    before = sys.stderr
    if number_of(before) != STANDARD_ERROR:
        yield
        return
    was_told = faulthandler.is_enabled()
    own = os.fdopen(os.dup(STANDARD_ERROR), "w", encoding=before.encoding, errors=before.errors, buffering=1)
    before.flush()
    with own:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), STANDARD_ERROR)
        _redirect(before, own)
        faulthandler.enable(own)
        try:
            yield
        finally:
            own.flush()
            os.dup2(own.fileno(), STANDARD_ERROR)
            _redirect(own, before)
            faulthandler.disable()
            if was_told:
                faulthandler.enable(before)


def _redirect(before: TextIO, stream: TextIO) -> None:
    """Let what is written to standard error, and what is logged there, go to another stream."""
    sys.stderr = stream
    loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    for each in loggers:
        for handler in getattr(each, "handlers", ()):
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                handler.setStream(stream)


def number_of(stream: TextIO | None) -> int:
    """Return the number by which the system knows a stream, -1 if it does not know it."""
    try:
        return -1 if stream is None else stream.fileno()
    except (OSError, ValueError):  # it is in memory, or closed
        return -1


def uvicorn_server(server: Server, host: str) -> uvicorn.Server:
    """Return a uvicorn server for a socket, not started yet."""
    config = uvicorn.Config(
        application(server, host),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http=Plain,
        ws=Talk,
        ws_max_size=server.limits.message_bytes,
        ws_max_queue=8,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=PATIENCE_S + 1,
        # The messages of refused clients, each of which may be sent by anybody.
        log_level=logging.ERROR,
    )
    return Accepting(config, server.limits)


def has_model(experiment: Path, model: str | None) -> bool:
    """Return whether an experiment has a model; raise an error if what is there cannot be one."""
    try:
        model_directory(experiment, model)
    except AsrError:
        if model is not None or (experiment.exists() and not experiment.is_dir()):
            raise
        return False
    return True


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; `ConfigError` if it cannot."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"--host: {host}: {error}; expected an address of this machine; 127.0.0.1"
        ) from None
    listening = socket.socket(family, kind, protocol)
    try:
        # On Windows this would let two programs share a port; the other option is there alone.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        listening.setsockopt(socket.SOL_SOCKET, option, 1)
        listening.bind(place)
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{host}:{port}: {reason}; expected an address of this machine and a free port; "
            "choose another --port, or 0 for any"
        ) from None
    return listening


def address_of(listening: socket.socket, host: str) -> str:
    """Return the address that is opened in a browser."""
    port = listening.getsockname()[1]
    name = "127.0.0.1" if host == "localhost" or is_unspecified(host) else host
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def warning_of(host: str) -> str:
    """Return a warning if other machines reach an address, else an empty text."""
    if is_loopback(host):
        return ""
    return (
        f"{host}: everyone who reaches this address can hear, delete and add recordings, and train; "
        "browsers give pages from there no microphone without https"
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
        openapi_url=None,
        lifespan=lifespan,
    )
    app.include_router(recognition_routes(server))
    app.include_router(studio_routes(server))
    app.include_router(listening_routes(server))
    app.include_router(page_routes(json.dumps(app.openapi()).encode()))
    _answer_errors(app, server)
    app.add_middleware(BoundedBodies, limits=server.limits)
    app.add_middleware(Gate, host=host)
    return app


def _answer_errors(app: FastAPI, server: Server) -> None:
    """Answer errors with one line of JSON."""

    def line(text: str, status: int) -> JSONResponse:
        # Who is too slow may go on sending for ever; what he sends is not read.
        headers = {"Connection": "close"} if status == TOO_SLOW else None
        said = server.plain(" ".join(text.split())).encode(errors="backslashreplace").decode()
        return JSONResponse({"error": said}, status, headers)

    @app.exception_handler(AsrError)
    async def ours(request: Request, error: AsrError) -> JSONResponse:
        return line(str(error), error.status if isinstance(error, Refusal) else UNUSABLE)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == NO_SUCH_METHOD:
            allowed = ", ".join(methods_of(request))
            answer = line(f"{error.detail}; expected another method ({allowed})", error.status_code)
            answer.headers["Allow"] = allowed
            return answer
        is_nowhere = error.status_code == NOT_FOUND
        cure = "; expected an address that /openapi.json names" if is_nowhere else ""
        return line(f"{error.detail}{cure}", error.status_code)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return line(f"{where}: {first['msg']}; /openapi.json says what is expected", UNUSABLE)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> JSONResponse:
        return JSONResponse({"error": "the client went away before the request had arrived"}, BAD)

    @app.exception_handler(OSError)
    async def storage(request: Request, error: OSError) -> JSONResponse:
        logger.error("%.8s %.100r: %s", request.method, request.url.path, error)
        return line(
            f"the server's disk: {error.strerror or 'error'}; make room, or start it elsewhere", INTERNAL
        )

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> JSONResponse:
        return line("an error of the server; its terminal says more", INTERNAL)


def methods_of(request: Request) -> list[str]:
    """Return the methods by which the address of a request may be asked, of all of its routes."""
    every = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    routes = request.app.router.routes
    found = [
        m for m in every if any(r.matches({**request.scope, "method": m})[0] is Match.FULL for r in routes)
    ]
    return [*found[:1], "HEAD", *found[1:]] if "GET" in found else found


def page_routes(description: bytes) -> APIRouter:
    """Return the routes of the page and its parts, which come with the package, and of a description."""
    router = APIRouter(include_in_schema=False)
    files = {path.name: path.read_bytes() for path in ASSETS.iterdir() if path.suffix in KINDS}

    @router.get("/")
    async def index() -> Response:
        return _asset("index.html", files)

    @router.get("/openapi.json")
    async def described() -> Response:
        return Response(description, media_type="application/json")

    @router.get("/assets/{name}")
    async def asset(name: str) -> Response:
        return _asset(name, files)

    return router


def _asset(name: str, files: dict[str, bytes]) -> Response:
    if name not in files:
        raise HTTPException(NOT_FOUND)
    return Response(files[name], media_type=KINDS[Path(name).suffix])
