"""The server of ``asr serve``: opens a socket and answers on it until a signal ends it.

The application is the routes, the page and its parts (a fixed list of files, read at the start), errors in
one line of JSON, and the gate before everything. Connections are accepted here, not by asyncio: its loop says
a hundred times a second that there are too many, and goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from io import FileIO
from itertools import count
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from asr.errors import ConfigError
from asr.formats.model_directories import model_directory
from asr.serving.gate import (
    BoundedBodies,
    Connections,
    Gate,
    Once,
    Plain,
    Talk,
    is_loopback,
    is_unspecified,
    neighbourhood,
)
from asr.serving.limits import BAD, BUSY, NOT_FOUND, TOO_SLOW, UNUSABLE, Limits, Refusal
from asr.serving.listening import listening_routes
from asr.serving.recognition import recognition_routes
from asr.serving.state import Served, Server
from asr.serving.studio import studio_routes
from foundation.endings import asked_to_stop
from foundation.errors import AsrError
from foundation.version import package_version

logger = logging.getLogger(__name__)

ASSETS = Path(__file__).with_name("assets")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
INTERNAL = 500
STANDARD_ERROR = 2
PATIENCE_S = 5  # for clients when the server ends; by feel
BACKLOG = 1024  # connections that wait to be accepted
AT_ONCE = 16  # that are accepted before others have a turn, if there is room for many; by feel
AGAIN_S = 0.1  # after which a failed accept is tried again; by feel
SWEPT_S = 0.5  # how often connections are looked at; by feel
LEAST_CONNECTIONS = 8  # a page needs six and one to listen
SPARE_HANDLES = 16  # of the loop of events, and of connections that come and go
FILTERED = ("uvicorn.error", "asyncio", __name__)  # loggers whose messages clients bring about
_NOWHERE = (NOT_FOUND, 405)  # another method, too
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

    Whoever sends such recordings would fill the disk that keeps what the server says.
    """
    buffer = getattr(sys.stderr, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if not isinstance(raw, FileIO) or raw.closed or raw.fileno() != STANDARD_ERROR:
        yield
        return
    own = os.dup(STANDARD_ERROR)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), STANDARD_ERROR)
    FileIO.__init__(raw, own, "wb", closefd=False)  # who holds the stream writes where he did before
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(own, STANDARD_ERROR)
        FileIO.__init__(raw, STANDARD_ERROR, "wb", closefd=False)
        os.close(own)


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
    return _Uvicorn(config, server.limits)


class _Uvicorn(uvicorn.Server):
    """A server that accepts connections as the gate admits them, and ends when it is asked to.

    The program that runs it goes on afterwards.

    Parameters
    ----------
    config : of uvicorn
    limits : of connections
    """

    def __init__(self, config: uvicorn.Config, limits: Limits) -> None:
        super().__init__(config)
        self._connections = Connections(limits, self.server_state.connections)
        self._beside: list[asyncio.Task[None]] = []
        self._begun = set[asyncio.Task[Any]]()
        self._once = Once()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer on some sockets."""
        for name in FILTERED:
            logging.getLogger(name).addFilter(self._once)
            logging.getLogger(name).disabled = False
        asyncio.get_running_loop().set_exception_handler(_say_in_a_line)
        await super().startup(sockets=[])
        self._beside = [asyncio.create_task(self._accept(each)) for each in sockets or []]
        self._beside.append(asyncio.create_task(self._sweep()))
        for task in self._beside:
            task.add_done_callback(self._check)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is under way and end."""
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        asyncio.get_running_loop().call_later(PATIENCE_S, self._break_off)
        await super().shutdown(sockets=sockets)
        for name in FILTERED:
            logging.getLogger(name).removeFilter(self._once)

    def _check(self, task: asyncio.Task[None]) -> None:
        """End the server when nobody accepts connections any more, which only a defect can bring about."""
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("an error of the server, which ends: %s: %s", type(error).__name__, error)
            self.should_exit = True

    def _break_off(self) -> None:
        """Leave who has still not been answered, and what uvicorn says of it unsaid."""
        logging.getLogger("uvicorn.error").disabled = True
        self._connections.leave_all()

    async def _accept(self, listening: socket.socket) -> None:
        """Accept connections, those for which there is no room with a word of refusal."""
        listening.setblocking(False)
        at_once = max(min(AT_ONCE, self._connections.most // 20), 1)
        for n in count(1):
            if n % at_once == 0:
                await asyncio.sleep(0)  # nothing below waits while more are there
            try:
                accepted, place = await asyncio.get_running_loop().sock_accept(listening)
            except ConnectionError:  # it went away before it was accepted
                continue
            except OSError as error:
                logger.error("no connection can be accepted: %s; silent ones give way", error.strerror)
                self._connections.make_room()
                await asyncio.sleep(AGAIN_S)
                continue
            if self._connections.admits(neighbourhood(place[0])):
                task = asyncio.create_task(self._begin(accepted))
                self._begun.add(task)
                task.add_done_callback(self._begun.discard)
            else:
                logger.warning("more connections at a time than there is room for; some are refused")
                _refuse(accepted)

    async def _begin(self, accepted: socket.socket) -> None:
        """Answer what comes through a connection."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._connection, accepted)
        except OSError:
            accepted.close()

    def _connection(self) -> asyncio.BaseProtocol:
        return Plain(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def _sweep(self) -> None:
        """Leave those who are too slow, again and again."""
        while True:
            self._connections.sweep()
            await asyncio.sleep(SWEPT_S)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let a signal end the server, not the program; a second one does not wait for clients."""

        def stop(number: int) -> None:
            self.should_exit = True

        def break_off(number: int) -> None:
            logging.getLogger("uvicorn.error").disabled = True  # it tells of what it breaks off
            self.force_exit = True

        with asked_to_stop(stop, break_off):
            yield


def _refuse(accepted: socket.socket) -> None:
    """Say to a client that there is no room for it, without waiting, and close its connection."""
    line = "the server has too many connections, expected fewer at a time; try again in a moment"
    body = json.dumps({"error": line}).encode()
    head = (
        f"HTTP/1.1 {BUSY} Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    with accepted, suppress(OSError):
        accepted.setblocking(False)
        accepted.send(head.encode() + body)
        accepted.shutdown(socket.SHUT_WR)
        accepted.recv(1 << 16)  # what is not read would be answered with a reset, which takes the words away


def _say_in_a_line(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say what went wrong beside all requests, such as a network that was lost."""
    logger.error("a connection: %s: %s", context.get("message"), context.get("exception"))


def free_handles(most: int) -> int:
    """Return how many more files and connections this process may open, so many at most."""
    opened: list[int] = []
    with suppress(OSError):
        while len(opened) < most:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    for handle in opened:
        os.close(handle)
    return len(opened)


def spare_handles(limits: Limits) -> int:
    """Return how many handles are kept for work: for recordings, which are received and read, a training."""
    return limits.uploads + 4 * limits.workers + SPARE_HANDLES


def limits_within(limits: Limits, n_handles: int) -> Limits:
    """Return limits that so many handles can hold; `ConfigError` if a page cannot be served with them.

    A connection may have a file of its own, which is sent to it.
    """
    spare = spare_handles(limits)
    n_connections = min((n_handles - spare) // 2, limits.connections)
    if n_connections < min(LEAST_CONNECTIONS, limits.connections):
        least = spare + 2 * LEAST_CONNECTIONS
        raise ConfigError(
            f"serve: {n_handles} more files can be open at a time, expected at least {least}; allow more: "
            "ulimit -n 1024"
        )
    each = min(limits.each_address, max(n_connections // 2, LEAST_CONNECTIONS))
    streams = min(limits.streams, each // 2) if n_connections < limits.connections else limits.streams
    return replace(limits, connections=n_connections, each_address=each, streams=streams)


def narrow(held: Limits, wanted: Limits) -> str:
    """Return what is said when there is room for few connections."""
    return (
        f"room for {held.connections} connections at a time, {held.each_address} of one address, and "
        f"{held.streams} who speak, expected {wanted.connections}: few files can be open; allow more before "
        "it starts: ulimit -n 1024"
    )


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
        cure = "; expected an address that /openapi.json names" if error.status_code in _NOWHERE else ""
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
