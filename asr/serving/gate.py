"""Who is let in: connections are counted, requests checked (who asks, how much comes), answers get headers.

Connections are bounded in all and for each address. When there is no room, the one that has been silent for
longest gives way, from the address that has most: whoever asks for something is answered beside any number
of connections that ask for nothing. Each has a deadline for its request and for taking its answer. Of what
has arrived a small piece is read at a time, since it may hold thousands of messages, and others wait for it.

Pages of this server and programs may ask, nobody else's page. A page of a stranger can send requests to a
server of this machine: under its own name, which its browser states as ``Origin``, or, once its name leads to
this machine (DNS rebinding), under the server's, which ``Host`` shows. Both are checked before anything is
read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import select
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from enum import IntEnum
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

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

PIECE = 4096  # bytes that are read at a time: up to 680 chunks of a byte
TALK_PIECE = 2048  # of a WebSocket: up to 340 messages
COSTLY_S = (
    0.001  # CPU time of a piece from which on it is costly: 4 KB of a recording take a twentieth; by feel
)
REST = 4  # times as long as they took, all costly pieces together leave the loop to others; by feel
REQUEST_S = 0.001  # about the CPU time of a short request
YOUNG_S = 1.0  # so long a connection is spared while there are older ones: its request is on its way; by feel
ANEW_S = 60.0  # what goes on is said once; what comes again after so long is said again; by feel


class Standing(IntEnum):
    """What a connection does, in the order in which connections give way to new ones."""

    SILENT = 0  # no whole head of a request has come
    ANSWERED = 1  # the answer is sent, but the body of the request still comes
    ARRIVING = 2  # the body of a request comes
    UNREAD = 3  # the client does not take what it is sent
    PRESSING = 4  # a request is worked on, and others have come behind it already
    BUSY = 5  # a request is worked on, or somebody is listened to: this gives way to nobody


class Connection(asyncio.BufferedProtocol, asyncio.Protocol):
    """What all connections share: they are read in small pieces, and it is known what they do since when.

    Attributes
    ----------
    since_s : when it began to do what it does
    is_left : whether it has been broken off
    piece : bytes that are read at a time
    """

    piece = PIECE
    transport: asyncio.Transport
    client: tuple[str, int] | None
    is_left = False
    rested_s = 0.0  # when all costly pieces so far, of any connection, will have been rested from

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.since_s = time.monotonic()
        self._seen: tuple[Standing, object] = (Standing.SILENT, None)
        self._piece = bytearray(self.piece)
        self._kept = bytearray()  # what came while it rests
        self._rests = False

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return where the next piece is to be put."""
        return self._piece

    def buffer_updated(self, nbytes: int) -> None:
        """Read a piece, or keep it while the connection rests."""
        piece = memoryview(self._piece)[:nbytes]
        if self._rests:
            self._kept += piece
            self.transport.pause_reading()  # somebody has asked for more
        else:
            self._read(bytes(piece))

    def _read(self, piece: bytes) -> None:
        """Read a piece; who sends costly ones, such as chunks of a byte, waits in turn with others who do."""
        began_s = time.thread_time()
        self.data_received(piece)
        cost_s = time.thread_time() - began_s
        if cost_s > 2 * COSTLY_S and self.standing is Standing.ANSWERED:
            self.leave()  # what comes after the answer is of no use to anybody
        elif cost_s > COSTLY_S and self.transport.get_protocol() is self:
            self._rests = True
            self.transport.pause_reading()
            self.call_rested(cost_s, self._go_on)

    def call_rested(self, cost_s: float, function: Callable[[], None]) -> None:
        """Call a function in turn, after a rest for what has cost so much."""
        now_s = time.monotonic()
        Connection.rested_s = max(now_s, Connection.rested_s) + REST * cost_s
        asyncio.get_running_loop().call_later(Connection.rested_s - now_s, function)

    def _go_on(self) -> None:
        """Read what was kept, then what comes."""
        if self.transport.is_closing():
            return
        self._rests = False
        if self._kept:
            piece = bytes(self._kept[: self.piece])
            del self._kept[: self.piece]
            self._read(piece)
        if self._kept and not self._rests:
            self._rests = True
            asyncio.get_running_loop().call_soon(self._go_on)
        elif not (self._rests or self.has_enough):
            self.transport.resume_reading()

    @property
    def has_enough(self) -> bool:
        """Whether nothing more shall be read until what was read is worked on."""
        raise NotImplementedError

    def eof_received(self) -> None:
        """Take a client that sends nothing more for gone: there is no other sign of that."""

    @cached_property
    def handle(self) -> int:
        """Number by which the system knows the connection."""
        return int(self.transport.get_extra_info("socket").fileno())

    @cached_property
    def address(self) -> str:
        """Whom the connection is counted for."""
        return neighbourhood(self.client[0]) if self.client else ""

    @property
    def standing(self) -> Standing:
        """What the connection does now."""
        raise NotImplementedError

    @property
    def turn(self) -> object:
        """What is another thing for each request."""
        return None

    def look(self, now_s: float) -> None:
        """Note whether the connection does something else than it did."""
        seen = self.standing, self.turn
        if seen != self._seen:
            self._seen, self.since_s = seen, now_s

    def leave(self) -> None:
        """Break the connection off, whatever waits to be sent."""
        self.is_left = True
        self.transport.abort()


class Plain(Connection, H11Protocol):
    """A connection that brings requests one after the other, as uvicorn answers them."""

    @property
    def standing(self) -> Standing:
        """What the connection does now."""
        if self.transport.get_write_buffer_size():
            return Standing.UNREAD
        if self.conn.their_state is h11.IDLE:
            return Standing.SILENT
        if self.conn.their_state is h11.SEND_BODY:
            is_answered = self.cycle is not None and self.cycle.response_complete
            return Standing.ANSWERED if is_answered else Standing.ARRIVING
        return Standing.PRESSING if self.flow.read_paused else Standing.BUSY

    def on_response_complete(self) -> None:
        """Go on to the next request: at once, or in turn if it was sent before the answer to this one."""
        if self.flow.read_paused and self.conn.their_state is h11.DONE:
            self.call_rested(REQUEST_S, super().on_response_complete)
        else:
            super().on_response_complete()

    @property
    def has_enough(self) -> bool:
        """Whether nothing more shall be read until what was read is worked on."""
        return self.flow.read_paused

    @property
    def turn(self) -> object:
        """The request under way."""
        return self.cycle


class Talk(Connection, WebSocketsSansIOProtocol):
    """A connection that has become a WebSocket."""

    piece = TALK_PIECE

    @property
    def standing(self) -> Standing:
        """What the connection does now."""
        if self.transport.get_write_buffer_size():
            return Standing.UNREAD
        return Standing.SILENT if self.close_sent else Standing.BUSY

    @property
    def has_enough(self) -> bool:
        """Whether nothing more shall be read until what was read is worked on."""
        return self.read_paused

    def handle_ping(self) -> None:
        """Answer a ping, unless the client takes no answers: these would be kept without bound."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()


class Connections:
    """Those who are connected: how many there may be, who gives way, and whose time is over.

    Parameters
    ----------
    limits : how many connections, and how patient the server is
    held : the connections there are
    """

    def __init__(self, limits: Limits, held: Iterable[Any]) -> None:
        self._held: Iterable[Connection] = held
        self.most, self.each = limits.connections, limits.each_address
        self._patience_s = {
            Standing.SILENT: limits.head_s,
            Standing.ANSWERED: limits.arrival_s,
            Standing.ARRIVING: limits.arrival_s + limits.head_s,  # routes refuse it before, with a word
            Standing.UNREAD: limits.arrival_s,
        }

    def admits(self, address: str) -> bool:
        """Return whether there is room for one more of an address; another one may give way to it."""
        held = [each for each in self._held if not each.is_left]
        same = [each for each in held if each.address == address]
        if len(same) >= self.each:
            return self._leave_some_of(same)
        return len(held) < self.most or self._leave_some_of(held)

    def leave_all(self) -> None:
        """Leave every one."""
        for each in list(self._held):
            each.leave()

    def make_room(self) -> None:
        """Leave some that give way, if there are any."""
        self._leave_some_of([each for each in self._held if not each.is_left])

    def sweep(self) -> None:
        """Leave those whose time is over."""
        now_s = time.monotonic()
        for each in list(self._held):
            each.look(now_s)
            if now_s - each.since_s > self._patience_s.get(each.standing, float("inf")):
                each.leave()

    def _leave_some_of(self, held: Collection[Connection]) -> bool:
        """Leave those that give way first, of many alike some at once; return whether there were any."""
        now_s, numbers = time.monotonic(), Counter(each.address for each in held)
        kinds: dict[tuple[bool, int], list[Connection]] = {}
        for each in held:
            if (standing := each.standing) < Standing.BUSY:
                is_young = now_s - each.since_s < YOUNG_S
                # Of the young those that have said something go first: others' requests are on their way.
                kinds.setdefault((is_young, standing or is_young * Standing.BUSY), []).append(each)
        if not kinds:
            return False
        alike = kinds[min(kinds)]
        alike = without_news(alike) or alike
        alike.sort(key=lambda each: (-numbers[each.address], each.since_s))
        for each in alike[: 1 + len(alike) // 8]:
            each.leave()
        return True


def without_news(held: Iterable[Connection]) -> list[Connection]:
    """Return those connections from which nothing has come that still waits to be read."""
    if sys.platform == "win32":
        return list(held)
    by_handle = {each.handle: each for each in held}
    poll = select.poll()
    for handle in by_handle:
        poll.register(handle, select.POLLIN)
    for handle, _ in poll.poll(0):
        del by_handle[handle]
    return list(by_handle.values())


def neighbourhood(address: str) -> str:
    """Return whom an address is counted for: an IPv6 address for its network, of which one client has many.

    >>> neighbourhood("10.0.0.7"), neighbourhood("2001:db8::1:2"), neighbourhood("::ffff:10.0.0.7")
    ('10.0.0.7', '2001:db8::', '10.0.0.7')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(found) >> 64 << 64))


class Once(logging.Filter):
    """Lets a message of a place in the program pass once, and again after a minute without it.

    Clients can bring about errors as often as they like; the terminal is not theirs to fill.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last_s: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message passes."""
        kind = record.exc_info[0] if record.exc_info else None
        place, now_s = (record.pathname, record.lineno, kind), time.monotonic()
        last_s, self._last_s[place] = self._last_s.get(place), now_s
        return last_s is None or now_s - last_s > ANEW_S


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
        reason = refusal_of(Headers(scope=scope), self.names, is_open=self.is_open)
        if reason is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            answer = JSONResponse({"error": reason}, FORBIDDEN)
            await answer(scope, receive, _with_headers(send))


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
