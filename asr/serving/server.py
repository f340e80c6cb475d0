"""``asr serve``: the application behind a socket of this machine, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from asr.decoding.model_directories import model_directory
from asr.endings import asked_to_stop
from asr.errors import ConfigError
from asr.serving.app import application
from asr.serving.gate import is_loopback, is_unspecified
from asr.serving.limits import Limits
from asr.serving.served import Served
from asr.serving.state import Server
from foundation.errors import AsrError

logger = logging.getLogger(__name__)
PATIENCE_S = 5  # for clients when the server ends


class _Uvicorn(uvicorn.Server):
    """A server that ends when it is asked to, and lets the program that runs it go on."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the serving, where they would end the program; a later one does not wait."""

        def stop(number: int) -> None:
            self.should_exit = True

        def break_off(number: int) -> None:
            logging.getLogger("uvicorn.error").disabled = True  # it tells of what it breaks off
            self.force_exit = True

        with asked_to_stop(stop, break_off):
            yield


def run(
    served: Served,
    *,
    host: str,
    port: int,
    folder: Path,
    limits: Limits,
    when_ready: Callable[[str, bool], None],
) -> None:
    """Serve until a signal ends it. ``when_ready`` is told the address, and whether there is a model."""
    if has_model(served.experiment, served.model):
        served.load()
    with listening_socket(host, port) as listening:
        if line := warning_of(host):
            logger.warning("%s", line)
        server = uvicorn_server(Server(served, folder, limits), host)
        when_ready(address_of(listening, host), served.is_ready)
        asyncio.run(server.serve(sockets=[listening]))


def uvicorn_server(server: Server, host: str) -> uvicorn.Server:
    """Return what answers on a socket, not started yet."""
    config = uvicorn.Config(
        application(server, host),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=server.limits.message_bytes,
        ws_max_queue=8,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=PATIENCE_S,
        # The messages of refused clients, each of which may be sent by anybody.
        log_level=logging.ERROR,
    )
    return _Uvicorn(config)


def has_model(experiment: Path, model: str | None) -> bool:
    """Return whether there is something to load; an error says what is wrong with what there is."""
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
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{host}:{port}: {reason}; expected an address of this machine and a free port; "
            "choose another --port, or 0 for any"
        ) from None
    return listening


def address_of(listening: socket.socket, host: str) -> str:
    """Return what a browser is given."""
    port = listening.getsockname()[1]
    name = "127.0.0.1" if host == "localhost" or is_unspecified(host) else host
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def warning_of(host: str) -> str:
    """Return what is to be said of an address that others reach, or nothing."""
    if is_loopback(host):
        return ""
    return (
        f"{host}: everyone who reaches this address can hear, delete and add recordings, and train; "
        "browsers give pages from there no microphone without https"
    )
