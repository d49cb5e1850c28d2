"""`answerback mcp-proxy --url`: servers that answer over HTTP as they should, and as they should not."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from answerback_agents.mcp_proxy import http_server
from answerback_agents.mcp_proxy.http_server import HttpServer
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json
from tests.unit.bot.mcp_proxy_support import encode, request, response

SSE = "text/event-stream"
JSON = "application/json"
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
PING = request("ping", 5)
PONG = response(5)
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Reply(NamedTuple):
    """The server's next answer."""

    body: bytes = b""
    kind: str = JSON
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    hangs: bool = False
    """True if the connection stays open until the client has gone."""
    drops: bool = False
    """True if the connection is closed without an answer."""


class Got(NamedTuple):
    """A request that the server got."""

    method: str
    headers: dict[str, str]
    body: bytes


class Server:
    """A server that answers as it is told, and the proxy's end of the connection."""

    def __init__(self) -> None:
        self.replies: queue.Queue[Reply] = queue.Queue()
        self.got: queue.Queue[Got] = queue.Queue()
        self.received: queue.Queue[bytes] = queue.Queue()
        self.warned: queue.Queue[str] = queue.Queue()
        self.gone = threading.Event()
        made = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                made.got.put(
                    Got(self.command, {k.lower(): v for k, v in self.headers.items()}, body)
                )
                reply = made.replies.get(timeout=WAIT)
                made.replies.task_done()
                if reply.drops:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in {"Content-Type": reply.kind, **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):  # the client may have gone
                    self.wfile.write(reply.body)
                    self.wfile.flush()
                    if reply.hangs:
                        self.connection.recv(1)
                if reply.hangs:
                    made.gone.set()

            do_POST = do_GET = do_DELETE = handle_any  # noqa: N815 - what the base class calls

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.listed: dict[str, Json] = {}
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/mcp?a=b"
        self.proxy = self.connect(self.url)

    def connect(self, url: str) -> HttpServer:
        return HttpServer(url, {"X-Key": "k"}, self.received.put, self.listed.get, self.warned.put)

    def answer(self, message: Json | bytes, **more: Any) -> None:
        body = message if isinstance(message, bytes) else encode(message)
        self.replies.put(Reply(body, **more))

    def send(self, message: Json) -> None:
        self.proxy.send(encode(message), message)

    def next(self) -> Json:
        found: Json = json.loads(self.received.get(timeout=WAIT))
        return found

    def error(self) -> str:
        """The error that the client gets."""
        found: str = self.next()["error"]["message"]
        return found

    def open_session(self) -> None:
        """Go through the handshake of the older generation."""
        version = response(0, protocolVersion="2025-11-25")
        self.answer(version, headers={"Mcp-Session-Id": "s1"})
        self.send(request("initialize", 0))
        assert self.next() == version

    def close(self) -> None:
        self.proxy.end()
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http_server, "_RECONNECT_PAUSE", 0.01)
    made = Server()
    yield made
    made.replies.put(Reply())
    made.close()


def events(*data: bytes, **fields: str) -> bytes:
    """A stream of events."""
    more = b"".join(f"{name}: {value}\n".encode() for name, value in fields.items())
    return more + b"".join(b"data: " + each + b"\r\n\r\n" for each in data)


@pytest.mark.rule("GATEWAY-9")
def test_the_session_of_the_older_generation(server: Server) -> None:
    server.open_session()
    first = server.got.get(timeout=WAIT)
    assert (first.method, first.headers["x-key"], "mcp-session-id" in first.headers) == (
        "POST",
        "k",
        False,
    )
    server.answer(b"", status=202)
    server.answer(events(encode(request("roots/list")), id="e1", retry="10"), kind=SSE)
    server.send(INITIALIZED)
    assert server.next() == request("roots/list")
    assert server.got.get(timeout=WAIT).headers["mcp-session-id"] == "s1"
    listening = server.got.get(timeout=WAIT)
    assert (listening.method, listening.headers["mcp-protocol-version"]) == ("GET", "2025-11-25")
    again = server.got.get(timeout=WAIT)  # the stream had ended
    assert (again.method, again.headers["last-event-id"]) == ("GET", "e1")
    server.answer(b"", kind="text/plain", status=405)  # and is no longer offered
    server.replies.join()  # that is the answer to the stream, whichever request comes first
    server.answer(PONG)
    server.send({**PING})
    assert server.next() == PONG
    assert server.got.get(timeout=WAIT).body == encode(PING).rstrip()
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 5}}
    server.answer(b"", status=202)
    server.send(cancelled)
    assert server.got.get(timeout=WAIT).body == encode(cancelled).rstrip()
    server.answer(b"")
    server.proxy.end()
    assert server.got.get(timeout=WAIT).method == "DELETE"


@pytest.mark.rule("GATEWAY-9")
def test_a_server_without_sessions_that_sends_too_much(server: Server) -> None:
    opened = response(0, protocolVersion="2025-11-25")
    server.answer(opened)
    server.send(request("initialize", 0))
    assert server.next() == opened
    server.answer(b"", status=202)
    server.answer(b"data: " + b"x" * (4 * 2**20), kind=SSE)
    server.send(INITIALIZED)
    assert "no longer responds" in server.warned.get(timeout=WAIT)


@pytest.mark.rule("GATEWAY-9")
def test_headers_of_the_newer_generation_repeat_the_message(server: Server) -> None:
    schema = {"type": "object", "properties": {"repo": {"type": "string", "x-mcp-header": "Repo"}}}
    server.listed["create"] = {"name": "create", "inputSchema": schema}
    for name in ("create", "other"):
        call = request("tools/call", 5, name=name, arguments={"repo": "é"}, **MODERN)
        server.answer(PONG)
        server.send(call)
        assert server.next() == PONG
        headers = server.got.get(timeout=WAIT).headers
        assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", name)
        assert headers["mcp-protocol-version"] == "2026-07-28"
        assert headers.get("mcp-param-repo") == ("=?base64?w6k=?=" if name == "create" else None)
    for other in (request("prompts/get", 5, name=7, **MODERN), request("tools/list", 5, **MODERN)):
        server.answer(PONG)
        server.send(other)
        assert server.next() == PONG
        assert "mcp-name" not in server.got.get(timeout=WAIT).headers
    server.answer(PONG)
    server.send(request("prompts/get", 5, name="p", **MODERN))
    assert server.next() == PONG


@pytest.mark.rule("GATEWAY-9")
def test_a_request_of_the_newer_generation_is_cancelled_by_its_connection(server: Server) -> None:
    server.answer(b": still working\n\n", kind=SSE, hangs=True)
    server.send(request("tools/call", 5, name="x", **MODERN))
    server.got.get(timeout=WAIT)
    for key in (6, 5):
        server.send({"method": "notifications/cancelled", "params": {"requestId": key}})
    assert server.gone.wait(WAIT)


@pytest.mark.rule("GATEWAY-9")
def test_a_message_over_several_lines_is_one_line_for_the_client(server: Server) -> None:
    server.answer(b'{\r\n "jsonrpc": "2.0",\n "id": 5,\n "result": {}}\n')
    server.send(PING)
    line = server.received.get(timeout=WAIT)
    assert line.count(b"\n") == 1
    assert json.loads(line) == PONG
    progress = b'{"method":"notifications/progress"}'
    server.answer(
        b"event: message\ndata: " + progress + b'\n\ndata: {\ndata: "id":5,"result":{}}\n\n',
        kind=SSE,
    )
    server.send(PING)
    assert json.loads(server.received.get(timeout=WAIT)) == {"method": "notifications/progress"}
    assert server.next() == {"id": 5, "result": {}}


@pytest.mark.rule("GATEWAY-9")
def test_a_stream_that_breaks_off_is_resumed(server: Server) -> None:
    server.answer(events(id="e1", retry="1") + b"\n", kind=SSE)
    server.answer(events(encode(request("roots/list")), encode(PONG)), kind=SSE)
    server.send(PING)
    assert server.next() == request("roots/list")
    assert server.next() == PONG
    server.got.get(timeout=WAIT)
    assert server.got.get(timeout=WAIT).headers["last-event-id"] == "e1"


@pytest.mark.rule("GATEWAY-9")
def test_a_stream_is_resumed_by_the_attempt_that_a_proxy_does_not_refuse(server: Server) -> None:
    server.answer(events(id="e1", retry="1") + b"\n", kind=SSE)
    for status in (503, 429):
        server.answer(b"busy", kind="text/plain", status=status)
    server.answer(events(encode(PONG)), kind=SSE)
    server.send(PING)
    assert server.next() == PONG


@pytest.mark.rule("GATEWAY-9")
def test_the_proxy_listens_again_after_a_restart_and_says_when_it_gives_up(server: Server) -> None:
    server.open_session()
    server.answer(b"", status=202)
    server.answer(b"", kind="text/plain", status=502)
    server.answer(events(encode(request("roots/list")), retry="1"), kind=SSE)
    server.send(INITIALIZED)
    assert server.next() == request("roots/list")
    for _ in range(5):
        server.answer(b"", kind="text/plain", status=502)
    assert server.warned.get(timeout=WAIT).endswith("no longer responds: the stream ended early.")


@pytest.mark.rule("GATEWAY-9")
@pytest.mark.parametrize("message", [PONG, INITIALIZED], ids=["response", "notification"])
@pytest.mark.parametrize(
    "trouble", [Reply(status=429), Reply(status=503), Reply(drops=True)], ids=str
)
def test_what_a_server_does_not_take_is_sent_again(
    server: Server, message: Json, trouble: Reply
) -> None:
    server.replies.put(trouble)
    server.replies.put(trouble)
    server.answer(b"", status=202)
    server.send(message)
    for _ in range(3):
        assert server.got.get(timeout=WAIT).body == encode(message).rstrip()
    server.replies.join()
    assert server.warned.empty()


@pytest.mark.rule("GATEWAY-9")
def test_other_messages_pass_while_an_answer_is_to_be_sent_again(server: Server) -> None:
    server.answer(b"", status=503, headers={"Retry-After": "3600"})
    server.send(PONG)
    assert server.got.get(timeout=WAIT).body == encode(PONG).rstrip()
    server.answer(PONG)
    server.send(PING)
    assert server.next() == PONG
    assert server.got.get(timeout=WAIT).body == encode(PING).rstrip()


@pytest.mark.rule("GATEWAY-9")
def test_an_answer_is_sent_again_when_the_server_says(server: Server) -> None:
    server.answer(b"", status=429, headers={"Retry-After": "1"})
    server.answer(b"", status=202)
    began = time.monotonic()
    server.send(PONG)
    for _ in range(2):
        server.got.get(timeout=WAIT)
    assert time.monotonic() - began >= 1


@pytest.mark.rule("GATEWAY-9")
def test_an_answer_that_a_server_never_takes_is_reported(server: Server) -> None:
    for _ in range(6):
        server.answer(b"", status=503)
    server.send(PONG)
    warning = server.warned.get(timeout=WAIT)
    assert warning.endswith("did not accept a message: HTTP 503 Service Unavailable.")
    assert server.replies.empty()


@pytest.mark.rule("GATEWAY-9")
def test_an_answer_to_a_task_is_sent_again_and_a_call_is_not(server: Server) -> None:
    update = request("tasks/update", 5, taskId="t1", inputResponses={}, **MODERN)
    error = encode({"id": None, "error": {"code": -1, "message": "busy"}})
    server.answer(error, status=503)
    server.answer(PONG)
    server.send(update)
    assert server.next() == PONG
    server.answer(error, status=503)
    server.send(request("tools/call", 6, name="x", **MODERN))
    assert server.error() == "busy"


@pytest.mark.rule("GATEWAY-9")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(b"", "text/plain", 202), "HTTP 202 without an answer"),
        (Reply(b"gone", status=404), "HTTP 404"),
        (Reply(b"busy", status=503), "HTTP 503"),
        (Reply(b'{"id":1}', status=400), "HTTP 400"),
        (
            Reply(
                encode({"id": None, "error": {"code": -1, "message": "no such method"}}), status=404
            ),
            "no such method",
        ),
        (Reply(b'{"id":5,"id":5,"result":{}}'), "occurs twice"),
        (Reply(b"x" * (4 * 2**20 + 1)), "more than"),
        (Reply(b"data: " + b"x" * (4 * 2**20), SSE), "more than"),
        (Reply(b"", SSE), "ended early"),
        (Reply(events(id="e\u2028\rx", retry="1") + b"\n", SSE), "ended early"),
        (
            Reply(b"", headers={"Location": "http://127.0.0.1:1/"}, status=307, kind="text/html"),
            "HTTP 307",
        ),
    ],
)
def test_a_request_without_a_proper_answer_is_answered_by_an_error(
    server: Server, reply: Reply, said: str
) -> None:
    server.replies.put(reply)
    server.send(PING)
    assert said in server.error()


@pytest.mark.rule("GATEWAY-9")
def test_a_version_that_no_header_can_have_hangs_no_request(server: Server) -> None:
    server.answer(response(4, protocolVersion="1\r\nHost: elsewhere"))
    server.send(request("initialize", 4))
    server.next()
    server.send(PING)
    assert "did not answer: Invalid header value" in server.error()
    server.send({"method": "notifications/initialized"})
    assert "did not accept a message" in server.warned.get(timeout=WAIT)


@pytest.mark.rule("GATEWAY-9")
def test_a_notification_that_the_server_refuses_is_reported(server: Server) -> None:
    server.answer(b"", status=405)
    server.send({"method": "notifications/roots/list_changed"})
    warning = server.warned.get(timeout=WAIT)
    assert warning.endswith("did not accept a message: HTTP 405 Method Not Allowed.")


@pytest.mark.rule("GATEWAY-9")
def test_a_server_that_is_away(server: Server) -> None:
    server.proxy = server.connect("http://127.0.0.1:1")
    server.send(PING)
    assert "did not answer" in server.error()
    server.send({"method": "notifications/initialized"})
    assert "did not accept a message" in server.warned.get(timeout=WAIT)
    server.proxy = server.connect("https://127.0.0.1:1/")
    server.send(PING)
    assert "did not answer" in server.error()
