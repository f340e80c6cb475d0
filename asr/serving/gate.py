"""Who may ask, how much comes, and with what headers it is answered.

Pages of this server and programs may ask, nobody else's page. A page of a stranger can send requests to a
server of this machine: under its own name, which its browser states as ``Origin``, or, once its name leads to
this machine (DNS rebinding), under the server's, which ``Host`` shows. Both are checked before anything is
read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections.abc import Collection
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from asr.serving.limits import FORBIDDEN, TOO_LARGE, TOO_SLOW, Limits

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; "
    "media-src 'self' blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "microphone=(self), camera=(), geolocation=()",
    "cache-control": "no-store",
}
# Where the body is a recording, which is bounded while it is written to its file (`asr.serving.recognition`).
OF_RECORDINGS = ("/api/transcribe", "/api/align", "/api/takes")
OF_WORDS = "/api/words"  # of hours of speech, which are read beside the loop of events


def is_loopback(host: str) -> bool:
    """Return whether an address is of this machine alone.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_unspecified(host: str) -> bool:
    """Return whether an address stands for all addresses of this machine.

    >>> is_unspecified("::"), is_unspecified("127.0.0.1"), is_unspecified("localhost")
    (True, False, False)
    """
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def names_of(host: str) -> frozenset[str]:
    """Return the names by which a server at an address may be called."""
    own = (
        () if is_loopback(host) else (socket.gethostname(), f"{socket.gethostname()}.local", socket.getfqdn())
    )
    return frozenset(name.lower() for name in (*LOOPBACK_NAMES, host, *own))


class Gate:
    """Refuses requests under a wrong name or from another site's page; adds headers to all answers.

    Parameters
    ----------
    app : what answers
    host : address the server listens at. Other than loopback, its numeric addresses are its names, too: they
        cannot be made to lead elsewhere.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.names, self.is_open = app, names_of(host), not is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        _take_host_from_target(scope)
        reason = refusal_of(Headers(scope=scope), self.names, is_open=self.is_open)
        if reason is None:
            # What GET answers, HEAD answers without its body, which uvicorn leaves out.
            as_get = {**scope, "method": "GET"} if scope.get("method") == "HEAD" else scope
            await self.app(as_get, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            answer = JSONResponse({"error": reason}, FORBIDDEN)
            await answer(scope, receive, _with_headers(send))


def _take_host_from_target(scope: Scope) -> None:
    """Read a target that is a whole address, as to a proxy: its host stands for Host (RFC 9112, 3.2.2).

    The scope itself changes: connections, too, look there for what is asked.
    """
    scheme, separator, rest = scope["raw_path"].decode("ascii", "replace").partition("://")
    if separator and scheme.lower() in ("http", "https"):
        host, _, path = rest.partition("/")
        scope["path"], scope["raw_path"] = unquote(f"/{path}"), f"/{path}".encode()
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        scope["headers"] = [(b"host", host.encode()), *others]


def refusal_of(headers: Headers, names: Collection[str], *, is_open: bool = False) -> str | None:
    """Return why a request with these headers is refused, empty if it is not."""
    host = headers.get("host", "")
    name = urlsplit(f"//{host}").hostname if _is_plain(host) else None
    if name is None or not (name in names or (is_open and _is_address(name))):
        return "the header Host names another server; expected the address that asr serve printed; use that"
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
        return "the request comes from another site's page; expected the page of this server; use that"
    return None


def _is_plain(host: str) -> bool:
    """Return whether a header names a host and perhaps a port, and nothing that could be read otherwise."""
    try:
        parts = urlsplit(f"//{host}")
        return parts.netloc == host and "@" not in host and (parts.port or 1) > 0
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(send: Send) -> Send:
    async def answered(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return answered


class BoundedBodies:
    """Refuses bodies, other than recordings, that are too large or too slow, before they are read as JSON.

    Parameters
    ----------
    app : what answers
    limits : how large and how slow it may be
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["path"] in OF_RECORDINGS:
            await self.app(scope, receive, send)
        else:
            is_of_words = scope["path"] == OF_WORDS
            most = self.limits.words_bytes if is_of_words else self.limits.json_bytes
            await self.app(scope, bounded(receive, self.limits, most), send)


def bounded(receive: Receive, limits: Limits, most: int) -> Receive:
    """Return a function that hands a body on, and raises an error when it is too large or too slow."""
    n_bytes, is_whole, end_s = 0, False, time.monotonic() + limits.arrival_s

    async def next_message() -> Message:
        nonlocal n_bytes, is_whole
        if is_whole:  # what comes now is the client's farewell
            return await receive()
        try:
            async with asyncio.timeout(max(end_s - time.monotonic(), 0)):
                message = await receive()
        except TimeoutError:
            raise HTTPException(
                TOO_SLOW, f"the request did not arrive within {limits.arrival_s:g} s; send it again"
            ) from None
        n_bytes += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if n_bytes > most:
            mega = most / 1e6
            raise HTTPException(
                TOO_LARGE, f"the request is too large, expected at most {mega:g} MB; send less"
            )
        return message

    return next_message
