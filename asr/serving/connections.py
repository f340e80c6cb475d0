"""Connections: how they are accepted, read and counted, who gives way, and what is said of their errors.

They are bounded in all and for each address. When there is no room, the one that has been silent for longest
gives way, from the address that has most: whoever asks for something is answered beside any number of
connections that ask for nothing. Each has a deadline for its request and for taking its answer. Of what
has arrived a small piece is read at a time, since it may hold thousands of messages, and others wait for it.
They are accepted here, not by asyncio: its loop says a hundred times a second that there are too many, and
goes on.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import os
import select
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import IntEnum
from functools import cached_property
from itertools import count
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from asr.errors import ConfigError
from asr.serving.gate import OF_RECORDINGS
from asr.serving.limits import BUSY, Limits
from foundation.endings import asked_to_stop

logger = logging.getLogger(__name__)

# Bytes that are read at a time: up to 680 chunks of a byte. A body of 48 MB takes 0.37 s with it, 0.18 s with
# 64 KB (both ends in one process, over the loopback), of which tiny chunks hold the loop 16 times longer.
PIECE = 4096
TALK_PIECE = 2048  # of a WebSocket: up to 340 messages
COSTLY_S = (
    0.001  # CPU time of a piece from which on it is costly: 4 KB of a recording take a twentieth; by feel
)
REST = 4  # times as long as they took, all costly pieces together leave the loop to others; by feel
REQUEST_S = 0.001  # about the CPU time of a short request
YOUNG_S = 1.0  # so long a connection is spared while there are older ones: its request is on its way; by feel
FAIR_S = 10.0  # so long a short request that is worked on gives way to nobody; by feel
ANEW_S = 60.0  # what goes on is said once in so long; by feel
PATIENCE_S = 5  # for clients when the server ends; by feel
AT_ONCE = 16  # that are accepted before others have a turn, if there is room for many; by feel
AGAIN_S = 0.1  # after which a failed accept is tried again; by feel
SWEPT_S = 0.5  # how often connections are looked at; by feel
LEAST_CONNECTIONS = 8  # a page needs six and one to listen
SPARE_HANDLES = 16  # of the loop of events, and of connections that come and go
FILTERED = ("uvicorn.error", "asyncio", "asr.serving.app", __name__)  # clients bring about what these say
# What is used of uvicorn beside what it describes; another version may lack it.
USED: dict[type, tuple[str, ...]] = {
    H11Protocol: ("client", "conn", "cycle", "flow", "on_response_complete", "transport"),
    FlowControl: ("read_paused",),
    RequestResponseCycle: ("response_complete", "scope"),
    WebSocketsSansIOProtocol: (
        *("client", "close_sent", "conn", "handle_ping", "read_paused", "transport", "writable"),
        *("pause_writing", "resume_writing"),  # these keep `writable`
    ),
    uvicorn.Server: ("capture_signals", "force_exit", "lifespan", "server_state", "shutdown", "startup"),
}


class Standing(IntEnum):
    """What a connection does, in the order in which connections give way to new ones."""

    SILENT = 0  # no whole head of a request has come
    ANSWERED = 1  # the answer is sent, but the body of the request still comes
    ARRIVING = 2  # the body of a request comes
    UNREAD = 3  # the client does not take what it is sent
    PRESSING = 4  # a request is worked on, and others have come behind it already
    BUSY = 5  # a request is worked on, or somebody is listened to: this gives way to nobody, for a fair while


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
    def is_brief(self) -> bool:
        """Whether what is asked takes no long time, unless it waits for others."""
        return False

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
    def is_brief(self) -> bool:
        """Whether what is asked takes no long time, unless it waits for others."""
        scope = self.cycle.scope if self.cycle is not None else {}
        return scope.get("method") in ("GET", "HEAD") or scope.get("path") not in OF_RECORDINGS

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
            standing, is_fair = each.standing, now_s - each.since_s < FAIR_S
            if standing < Standing.BUSY or (each.is_brief and not is_fair):
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


class Accepting(uvicorn.Server):
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


class Once(logging.Filter):
    """Lets a message of a place in the program pass once a minute, with the number of those that did not.

    Clients can bring about errors as often as they like; the terminal is not theirs to fill. The place of an
    exception is where it was raised: uvicorn tells of all of them in one line of its own. A text that is not
    UTF-8 is the client's fault alone, who is told so by the code of the close: it never passes.
    """

    def __init__(self) -> None:
        super().__init__()
        # Of each place when the last one passed, and how many have not since then.
        self._passed: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message passes."""
        if _is_clients_text(record):
            return False
        place, now_s = _place_of(record), time.monotonic()
        last_s, n_kept = self._passed.get(place, (-math.inf, 0))
        if now_s - last_s <= ANEW_S:
            self._passed[place] = last_s, n_kept + 1
            return False
        self._passed[place] = now_s, 0
        if n_kept:
            record.msg, record.args = f"{record.getMessage().rstrip()} (and {n_kept} more before it)", ()
        return True


def _is_clients_text(record: logging.LogRecord) -> bool:
    """Return whether a WebSocket's text was not UTF-8, which uvicorn tells with a traceback."""
    of_talk = sys.modules[WebSocketsSansIOProtocol.__module__].__file__
    kind = record.exc_info[0] if record.exc_info else None
    return kind is UnicodeDecodeError and record.pathname == of_talk


def _place_of(record: logging.LogRecord) -> object:
    """Return where something went wrong: which line said so, and which raised what."""
    kind, _, trace = record.exc_info or (None, None, None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised = None if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return record.pathname, record.lineno, kind, raised


def lacking() -> list[str]:
    """Return what the installed uvicorn lacks of the names that are used here."""
    used = [(each, name) for each, names in USED.items() for name in names]
    return [f"{each.__name__}.{name}" for each, name in used if not has(each, name)]


def has(each: type, name: str) -> bool:
    """Return whether a class of uvicorn has an attribute, or its methods an attribute of that name."""
    parts = [vars(part) for part in each.__mro__ if part.__module__.startswith("uvicorn")]
    bodies = [getattr(value, "__code__", None) for part in parts for value in part.values()]
    return any(name in part for part in parts) or any(name in body.co_names for body in bodies if body)
