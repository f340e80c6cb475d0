"""Connections of a running server: how many, how slow, how small their pieces, and what is said of them."""

from __future__ import annotations

import asyncio
import errno
import inspect
import io
import json
import logging
import re
import socket
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
import soundfile
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

import asr
from asr.errors import ConfigError
from asr.serving.connections import (
    ANEW_S,
    FAIR_S,
    USED,
    Connections,
    Once,
    Plain,
    Standing,
    Talk,
    free_handles,
    lacking,
    limits_within,
    spare_handles,
)
from asr.serving.limits import Limits
from asr.serving.serve import UVICORN, check_uvicorn

HEAD = b"GET /api/model HTTP/1.1\r\nHost: 127.0.0.1\r\n"
UPGRADE = (
    b"GET /api/listen HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@contextmanager
def connected(running: Any, first: bytes = b"", address: str = "127.0.0.1") -> Iterator[socket.socket]:
    """Give a connection that has sent something; it is left without a word."""
    with socket.create_connection(("127.0.0.1", running.port), 60, (address, 0)) as raw:
        raw.sendall(first)
        yield raw


def ended(raw: socket.socket) -> bytes:
    """Return what comes until the server ends a connection, which it does within a minute."""
    found = b""
    try:
        while piece := raw.recv(65536):
            found += piece
    except ConnectionError:
        pass
    return found


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"GET",
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n",
        b"POST /api/words HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
        (HEAD + b"\r\n") * 1000,
        UPGRADE,
    ],
)
@pytest.mark.parametrize("n_addresses", [1, 12])
def test_whoever_asks_is_answered_beside_many_who_do_not(start: Any, first: bytes, n_addresses: int) -> None:
    running = start(Limits(connections=12, each_address=8, streams=4))
    with ExitStack() as crowd:
        for n in range(60):
            crowd.enter_context(connected(running, first, f"127.0.0.{1 + n % n_addresses}"))
        assert [running.ask("GET", "/api/model").status for _ in range(5)] == [200] * 5


@pytest.mark.parametrize(
    "first", [b"", b"GET / HTT", HEAD, HEAD + b"Content-Length: 9\r\n\r\nx", HEAD + b"\r\n" + HEAD]
)
def test_who_is_too_slow_is_left(start: Any, first: bytes) -> None:
    running = start(Limits(head_s=0.3, arrival_s=0.6))
    with connected(running, first) as raw:
        dripping, over = threading.Event(), threading.Event()

        def drip() -> None:
            dripping.set()
            while not over.wait(0.05):
                try:
                    raw.send(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        assert dripping.wait(10)
        answer = ended(raw)
        over.set()
        thread.join(10)
    assert (b"200 OK" in answer) == (b"\r\n\r\n" in first)


def send_for_ever(raw: socket.socket, content: bytes) -> None:
    while True:
        raw.sendall(content)


def test_who_reads_no_answer_is_left(start: Any) -> None:
    running = start(Limits(arrival_s=0.5))
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", running.port))
        raw.settimeout(60)
        with pytest.raises(ConnectionError, match=r"reset|Broken pipe"):
            send_for_ever(raw, b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 100)


def test_requests_that_were_sent_at_once_are_all_answered_in_order(started: Any) -> None:
    paths = [b"/api/model", b"/nowhere"] * 40
    with connected(
        started, b"".join(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % p for p in paths)
    ) as raw:
        found = b""
        while found.count(b"HTTP/1.1 ") < 80 or not found.endswith(b"}"):
            found += raw.recv(65536)
    statuses = [piece[:3] for piece in found.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404"] * 40


def test_who_finds_all_busy_is_told_so(start: Any) -> None:
    running = start(Limits(connections=2, each_address=2))
    wish = {"sample_rate": 16000}
    with running.listening(wish), running.listening(wish):
        refused = running.ask("GET", "/api/model")
        assert refused.status == 503
        assert refused.error == (
            "the server has too many connections, expected fewer at a time; try again in a moment"
        )
    for _ in range(200):
        if running.ask("GET", "/api/model").status == 200:
            return
        time.sleep(0.05)
    pytest.fail("there is no room again")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ECONNABORTED])
def test_failed_accepts_are_said_once_and_tried_again(
    start: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    failed: list[float] = []
    accept = socket.socket.accept

    def failing(listening: socket.socket) -> Any:
        if len(failed) < 5:
            failed.append(time.monotonic())
            raise OSError(number, "no more")
        return accept(listening)

    running = start()
    monkeypatch.setattr(socket.socket, "accept", failing)
    with caplog.at_level(logging.INFO):
        assert running.ask("GET", "/api/model").status == 200
    said = [record.getMessage() for record in caplog.records if record.name.startswith(("asr", "asyncio"))]
    expected = "no connection can be accepted: no more; silent ones give way"
    assert said == ([] if number == errno.ECONNABORTED else [expected])
    assert len(failed) == 5


@pytest.mark.parametrize("kind", [Plain, Talk])
def test_what_has_arrived_is_read_in_small_pieces(
    started: Any, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    sizes: list[int] = []
    original: Callable[[Any, bytes], None] = kind.data_received  # type: ignore[attr-defined]

    def received(connection: Any, data: bytes) -> None:
        sizes.append(len(data))
        original(connection, data)

    monkeypatch.setattr(kind, "data_received", received, raising=False)
    if kind is Plain:
        assert started.ask("POST", "/api/transcribe", bytes(300_000)).status == 415
    else:
        with started.listening({"sample_rate": 16000}) as stream:
            stream.send(bytes(200_000))
            stream.send(json.dumps({"type": "finish"}))
            while json.loads(stream.recv(30))["type"] != "done":
                pass
    assert sum(sizes) > 200_000
    assert max(sizes) == kind.piece  # type: ignore[attr-defined]


def test_pings_that_nobody_hears_of_fill_no_memory(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[int] = []
    original = Talk.handle_ping

    def pinged(talk: Any) -> None:
        original(talk)
        waiting.append(talk.transport.get_write_buffer_size())

    monkeypatch.setattr(Talk, "handle_ping", pinged)
    ping = bytes([0x89, 0x80 | 125, 0, 0, 0, 0]) + bytes(125)
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", started.port))
        raw.settimeout(60)
        raw.sendall(UPGRADE)
        assert raw.recv(4).startswith(b"HTTP")
        for _ in range(100):
            raw.sendall(ping * 500)
        while len(waiting) < 40_000:
            time.sleep(0.05)
    assert 65_536 < max(waiting) < 200_000  # what a transport holds before it asks for patience


def test_a_thousand_empty_messages_leave_others_their_turn(started: Any) -> None:
    empty = bytes([0x82, 0x80, 0, 0, 0, 0])
    wish = b'{"sample_rate": 16000}'
    with connected(started, UPGRADE) as raw:
        assert raw.recv(4).startswith(b"HTTP")
        raw.sendall(bytes([0x81, 0x80 | len(wish), 0, 0, 0, 0]) + wish)
        over = threading.Event()

        def flood() -> None:
            while not over.is_set():
                raw.sendall(empty * 1000)

        thread = threading.Thread(target=flood)
        thread.start()
        answers = [started.ask("GET", "/api/model").status for _ in range(10)]
        over.set()
        thread.join(30)
    assert answers == [200] * 10


def test_handles_are_counted_and_too_few_are_refused() -> None:
    spare = spare_handles(Limits())
    usual = limits_within(Limits(), 10_000)
    assert (usual.connections, usual.each_address) == (Limits().connections, Limits().each_address)
    few = limits_within(Limits(), spare + 40)
    assert (few.connections, few.each_address, few.streams) == (20, 10, 5)
    least = limits_within(Limits(), spare + 16)
    assert (least.connections, least.each_address, least.streams) == (8, 8, 4)
    assert limits_within(Limits(streams=300), 10_000).streams == 300
    with pytest.raises(ConfigError, match=r"serve: 10 more files can be open at a time, expected at least"):
        limits_within(Limits(), 10)
    assert free_handles(20) == 20


def test_many_streams_find_room() -> None:
    assert Limits().with_room() == Limits()
    wide = Limits(streams=500).with_room()
    assert (wide.connections, wide.each_address) == (900, 700)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on open files")
@pytest.mark.parametrize(
    ("most", "code", "line"),
    [
        (32, 2, "more files can be open at a time, expected at least 48; allow more: ulimit -n 1024"),
        (64, None, "connections at a time, 8 of one address, and 4 who speak, expected 400: few files can"),
    ],
)
def test_few_handles_are_said_at_the_start(
    at_terminal: Callable[..., Any], trained: Path, tmp_path: Path, most: int, code: int | None, line: str
) -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))\n"
    run = "import sys; from asr.__main__ import main; sys.exit(main())"
    server = at_terminal(limited + run, "serve", str(trained), "--port", "0", "--json", cwd=tmp_path)
    with server:
        told = server.stdout.readline()
        if code is None:
            asking = HTTPConnection(json.loads(told)["address"].split("/")[2], timeout=60)
            with closing(asking):
                asking.request("GET", "/")
                assert asking.getresponse().status == 200
            server.terminate()
        assert server.wait(60) == (code or 0)
        said = server.stderr.read()
    assert line in said
    assert "Traceback" not in said
    assert len(said.splitlines()) == (1 if code else 3)


# What reads files, sound, and what people write: each can take seconds, and belongs beside the loop.
PARSERS = ("features.", "soxr.", "acoustic.", "asr.corpora.", "asr.language.", "soundfile.SoundFile.__init__")
PARSERS += ("asr.serving.answers.Sentence.read", "asr.serving.takes.Takes.", "asr.serving.takes.levels_of")
PARSERS += ("foundation.files.TemporaryFolder.",)


def asks_of_all_kinds(running: Any, spoken: Path) -> None:
    """Send good and bad requests of each kind."""
    samples, rate = soundfile.read(spoken, dtype="float32")
    bodies = [b"", b"nothing", spoken.read_bytes()[:-100], spoken.read_bytes() * 2]
    for form in ("WAV", "FLAC", "OGG", "MP3", "AIFF", "W64", "CAF", "AU", "RF64"):
        file = io.BytesIO()
        soundfile.write(file, samples, rate, format=form)
        bodies += [file.getvalue(), file.getvalue()[:200]]
    for body in bodies:
        for path in ("/api/transcribe?format=textgrid", "/api/align?text=one", "/api/takes?prompt=one"):
            running.ask("POST", path, body)
    word = {"word": "x", "start_s": 0, "end_s": 1}
    for sent in ({"duration_s": 1, "words": [word] * 100}, {"words": [[]]}):
        running.ask("POST", "/api/words?format=srt", sent)
    running.ask("PUT", "/api/prompts", {"prompts": ["one", "two"]})
    for path in ("/", "/api/model", "/api/takes", "/api/takes/one-001", "/api/training", "/openapi.json"):
        running.ask("GET", path)
    running.ask("POST", "/api/training")
    running.ask("DELETE", "/api/takes/one-001")
    with running.listening({"sample_rate": 48_000}) as stream:
        stream.send(spoken.read_bytes()[44:] * 3)
        stream.send(json.dumps({"type": "finish"}))
        while json.loads(stream.recv(30))["type"] != "done":
            pass


def test_no_parser_runs_in_the_thread_of_the_loop(start: Any, spoken: Path) -> None:
    here, beside = set[str](), set[str]()

    def note(frame: FrameType, event: str, arg: object) -> None:
        name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
        is_resumed = frame.f_code.co_flags & inspect.CO_GENERATOR  # perhaps to be closed, wherever that is
        if event == "call" and name.startswith(PARSERS) and not is_resumed:
            kept = beside if asyncio._get_running_loop() is None else here
            kept.add(name)

    threading.setprofile(note)
    try:
        asks_of_all_kinds(start(), spoken)
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
    assert " ".join(sorted(here)) == ""
    parsers = {name for prefix in PARSERS for name in beside if name.startswith(prefix)}
    assert {"features.audio.audio_info", "asr.serving.answers.Sentence.read"} <= parsers


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"[" * 30_000, "too many lists"),
        (b'{"duration_s":1,"words":[' + b"[]," * 30_000 + b"[]]}", "too many lists"),
        (b'{"a":' * 20_000, "too many brackets"),
        (b"{", "Expecting property name"),
        (b"\xff", "decode"),
        (b'{"duration_s":1,"words":[' + b"{}," * 19_000 + b"{}]}", "words.0.word: Field required"),
        (b'{"words":[]}', "duration_s: Field required"),
    ],
)
def test_json_that_is_no_sentence_is_refused_at_its_first_mistake(
    started: Any, body: bytes, line: str
) -> None:
    said = started.ask("POST", "/api/words", body, {"content-type": "application/json"})
    assert (said.status, said.error.count("\n")) == (422, 0)
    assert line in said.error
    assert said.error.endswith("; /openapi.json says what is expected")
    assert len(said.error) < 200


@pytest.mark.parametrize("path", ["/api/words", "/api/prompts", "/api/transcribe", "/api/takes?prompt=one"])
def test_of_clients_that_go_away_nothing_is_said(
    started: Any, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    head = f"PUT {path}" if "prompts" in path else f"POST {path}"
    for body in (b"", b"{"):
        with connected(started, f"{head} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode()) as raw:
            raw.sendall(b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n" + body)
            time.sleep(0.1)
    assert started.ask("GET", "/api/model").status == 200
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


def frame(first: int, payload: bytes) -> bytes:
    """Return a WebSocket's frame as a client sends it, masked with zeros."""
    return bytes([first, 0x80 | len(payload)]) + bytes(4) + payload


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (frame(0x81, b"\xff\xfe"), 1007),
        (frame(0x01, b"\xe4") + frame(0x80, b"\xff"), 1007),  # in pieces
        (frame(0x88, b"\x03\xe8\xff"), 1007),  # the reason of a close
        (frame(0x80, b"x"), 1002),  # goes on with nothing
        (frame(0x83, b"x"), 1002),  # of no known kind
        (b"\x81\x01x", 1002),  # not masked
    ],
)
def test_of_frames_that_no_client_may_send_nothing_is_said(
    started: Any, caplog: pytest.LogCaptureFixture, frames: bytes, code: int
) -> None:
    with connected(started, UPGRADE) as raw:
        head = b""
        while b"\r\n\r\n" not in head:
            head += raw.recv(1000)
        raw.sendall(frames)
        said = ended(raw)
    assert head.startswith(b"HTTP/1.1 101 ")
    assert code.to_bytes(2, "big") in said
    assert started.ask("GET", "/api/model").status == 200
    assert [(r.levelname, r.getMessage()) for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_who_goes_on_with_tiny_chunks_after_the_answer_is_left(started: Any) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connected(started, head) as raw, pytest.raises(ConnectionError, match=r"reset|Broken pipe"):
        send_for_ever(raw, b"1\r\nx\r\n" * 10_000)


def test_words_that_look_like_lists_are_written(started: Any) -> None:
    words = [{"word": "[noise]", "start_s": n, "end_s": n + 0.5} for n in range(20_000)]
    said = started.ask("POST", "/api/words?format=ctm", {"duration_s": 20_000, "words": words})
    assert (said.status, said.body.count(b"[noise]")) == (200, 20_000)


def test_what_is_sent_to_be_written_is_described(started: Any) -> None:
    described = started.ask("GET", "/openapi.json").json
    schema = described["paths"]["/api/words"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["words"]["items"] == {"$ref": "#/components/schemas/Word"}
    assert "Word" in described["components"]["schemas"]


@pytest.mark.skipif(sys.platform == "win32", reason="ends by a signal")
def test_a_server_that_is_stopped_says_nothing_of_uploads_under_way(
    at_terminal: Callable[..., Any], trained: Path, tmp_path: Path
) -> None:
    run = "import sys; from asr.__main__ import main; sys.exit(main())"
    server = at_terminal(run, "serve", str(trained), "--port", "0", "--json", cwd=tmp_path)
    with server:
        port = int(json.loads(server.stdout.readline())["address"].rstrip("/").rpartition(":")[2])
        head = b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nx"
        with ExitStack() as crowd:
            for _ in range(9):
                crowd.enter_context(connected(SimpleNamespace(port=port), head))
            with connected(SimpleNamespace(port=port), HEAD + b"\r\n") as asking:
                assert asking.recv(12) == b"HTTP/1.1 200"
            server.terminate()
            assert server.wait(60) == 0
        assert server.stderr.read().splitlines() == ["stop with Ctrl-C", "stopped"]


class Fake:
    """A connection that only stands."""

    def __init__(self, address: str, standing: Standing, age_s: float = 10.0) -> None:
        self.address, self.standing, self.is_left, self.is_brief = address, standing, False, False
        self.since_s = time.monotonic() - age_s
        self.near, self.far = socket.socketpair()
        self.handle = self.near.fileno()

    def __del__(self) -> None:
        self.near.close()
        self.far.close()

    def look(self, now_s: float) -> None:
        pass

    def leave(self) -> None:
        self.is_left = True


def left_of(held: list[Fake], address: str, limits: Limits) -> tuple[bool, list[int]]:
    """Return whether a new connection is admitted, and which of those held give way to it."""
    return Connections(limits, held).admits(address), [n for n, each in enumerate(held) if each.is_left]


SMALL = Limits(connections=4, each_address=3)
SILENT, ANSWERED, ARRIVING, UNREAD, PRESSING, BUSY = Standing


def test_while_there_is_room_nobody_gives_way() -> None:
    assert left_of([Fake("a", SILENT)] * 2, "a", SMALL) == (True, [])


@pytest.mark.parametrize(
    ("held", "gives_way"),
    [
        ([("a", BUSY, 9), ("a", SILENT, 3), ("a", SILENT, 5), ("b", SILENT, 9)], 2),
        ([("b", SILENT, 9), ("c", SILENT, 3), ("c", SILENT, 5), ("d", BUSY, 9)], 2),
        ([("a", UNREAD, 9), ("b", ARRIVING, 9), ("c", ANSWERED, 9), ("d", BUSY, 9)], 2),
        ([("b", PRESSING, 9), ("d", BUSY, 9), ("d", BUSY, 9), ("d", BUSY, 9)], 0),
        ([("b", SILENT, 0.1), ("c", UNREAD, 3), ("d", BUSY, 9), ("d", BUSY, 9)], 1),
        ([("b", SILENT, 0.5), ("c", UNREAD, 0.2), ("d", SILENT, 0.3), ("d", SILENT, 0.4)], 1),
        ([("b", SILENT, 0.1), ("c", UNREAD, 0.2), ("d", BUSY, 9), ("d", BUSY, 9)], 1),
    ],
)
def test_who_gives_way(held: list[tuple[str, Standing, float]], gives_way: int) -> None:
    assert left_of([Fake(*each) for each in held], "a", SMALL) == (True, [gives_way])


def test_whose_request_has_come_and_is_not_read_yet_is_spared() -> None:
    held = [Fake("a", SILENT, 9), Fake("a", SILENT, 8), Fake("a", SILENT, 7)]
    held[0].far.send(b"GET")
    assert left_of(held, "a", SMALL) == (True, [1])
    held[1].is_left = False
    for each in held:
        each.far.send(b"GET")
    assert left_of(held, "a", SMALL) == (True, [0])  # somebody has to go


def test_who_is_busy_gives_way_to_nobody_and_the_new_one_is_refused() -> None:
    assert left_of([Fake("a", BUSY)] * 3, "a", SMALL) == (False, [])
    assert left_of([Fake("a", BUSY)] * 3, "b", SMALL) == (True, [])
    assert left_of([Fake("c", BUSY)] * 4, "b", SMALL) == (False, [])


def test_of_many_alike_some_give_way_at_once() -> None:
    held = [Fake("a", SILENT, 2 + n) for n in range(80)]
    is_admitted, left = left_of(held, "a", Limits(connections=80, each_address=80))
    assert (is_admitted, left) == (True, list(range(69, 80)))  # an eighth and one, the oldest


def test_whose_time_is_over() -> None:
    limits = Limits(head_s=5, arrival_s=20)
    ages = (4, 6, 19, 21, 26)
    found = {}
    for standing in Standing:
        held = [Fake("a", standing, age) for age in ages]
        Connections(limits, held).sweep()
        found[standing] = [age for age, each in zip(ages, held, strict=True) if each.is_left]
    assert found == {
        SILENT: [6, 19, 21, 26],
        ANSWERED: [21, 26],
        ARRIVING: [26],
        UNREAD: [21, 26],
        PRESSING: [],
        BUSY: [],
    }


def failed(what: str) -> Any:
    """Return what a log keeps of an exception that was raised in one of two places."""
    try:
        if what == "one":
            raise KeyError(what)
        raise KeyError(what)
    except KeyError:
        return sys.exc_info()


def test_a_message_passes_once_a_minute_with_the_number_of_those_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("asr.serving.connections.time.monotonic", lambda: now_s[0])
    once, passed = Once(), []
    for later_s, line in ((0, 7), (30, 7), (ANEW_S - 31, 7), (0, 8), (2, 7), (30, 7), (ANEW_S, 8), (0, 7)):
        now_s[0] += later_s
        record = logging.LogRecord("x", logging.ERROR, "app.py", line, "%s\n", ("wrong",), None)
        passed.append(record.getMessage() if once.filter(record) else "")
    assert passed == [
        *("wrong\n", "", "", "wrong\n", "wrong (and 2 more before it)", "", "wrong\n"),
        "wrong (and 1 more before it)",
    ]


def test_an_exception_of_another_place_is_another_message() -> None:
    once = Once()
    records = [
        logging.LogRecord("x", logging.ERROR, "uvicorn.py", 7, "Exception in ASGI application", (), failed(w))
        for w in ("one", "two", "one")
    ]
    assert [once.filter(record) for record in records] == [True, True, False]


def test_short_requests_that_wait_too_long_give_way() -> None:
    held = [Fake("a", BUSY, age_s) for age_s in (FAIR_S - 1, FAIR_S + 1, FAIR_S + 2)]
    assert left_of(held, "a", SMALL) == (False, [])
    for each in held:
        each.is_brief = True
    assert left_of(held, "a", SMALL) == (True, [2])
    assert left_of([*held[:2], Fake("a", SILENT)], "a", SMALL) == (True, [2])


def test_who_asks_for_takes_without_end_keeps_nobody_out(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr("asr.serving.studio.studio_of", lambda server: over.wait(60))
    running = start(Limits(connections=4, each_address=3))
    asked = b"GET /api/takes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    try:
        with connected(running, asked), connected(running, asked), connected(running, asked):
            while running.server.workers.running < 3:
                time.sleep(0.01)
            assert running.ask("GET", "/api/model").status == 503
            monkeypatch.setattr("asr.serving.connections.FAIR_S", 0.2)
            for _ in range(100):
                if (status := running.ask("GET", "/api/model").status) == 200:
                    break
                time.sleep(0.05)
    finally:
        over.set()
    assert status == 200


def test_uvicorn_has_all_that_is_used_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another version lacks is named here, and at the start of the server."""
    assert lacking() == []
    check_uvicorn()
    monkeypatch.delattr(WebSocketsSansIOProtocol, "pause_writing")
    monkeypatch.setitem(USED, FlowControl, ("read_paused", "reading_is_paused"))
    names = "FlowControl.reading_is_paused, WebSocketsSansIOProtocol.pause_writing"
    for found, cure in (("0.52.0", ">="), ("1.0", "==")):
        monkeypatch.setattr("asr.serving.serve.version", lambda name, found=found: found)
        line = f"serve: uvicorn {found} lacks {names}, expected {UVICORN}; run: pip install 'uvicorn{cure}"
        with pytest.raises(ConfigError, match=f"^{re.escape(line)}{UVICORN}'$"):
            asr.serve(port=0)


def test_an_old_uvicorn_without_a_module_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def imported(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name}", name="uvicorn.protocols.websockets.x")

    monkeypatch.setattr("asr.serving.serve.import_module", imported)
    with pytest.raises(ConfigError, match=r"lacks uvicorn\.protocols\.websockets\.x, expected"):
        check_uvicorn()


def test_the_lowest_uvicorn_is_that_of_the_package() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert f"uvicorn>={UVICORN}" in project["optional-dependencies"]["serve"]
