"""An engine that trusts nobody: keeps every request's bytes as they came and answers `{}`. It reads lengths and chunks as
leniently as servers do, and says of each request whether its bytes can be read in one way only."""
import re

from .fake_engine import FakeEngine, Received, read_until

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
_FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[\t\x20-\x7e\x80-\xff]*\Z")
_LINE = re.compile(rb"[A-Z]+ /[\x21-\x7e]* HTTP/1\.1\Z")


class Recorder(FakeEngine):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.default = lambda exchange: exchange.send(ANSWER)

    def _read(self, sock, pending, number):
        head, rest = read_until(sock, pending, b"\r\n\r\n")
        if head is None:
            return None, b""
        first, *lines = head.split(b"\r\n")
        parts = first.split(b" ")
        headers = [(n.decode("latin-1"), v.strip().decode("latin-1")) for n, _, v in (line.partition(b":") for line in lines)]
        values = {n.lower(): v for n, v in headers}
        if "chunked" in values.get("transfer-encoding", "").lower():
            body, rest = self._chunks(sock, rest)
        else:
            body, rest = self._length(sock, rest, int(values.get("content-length", 0)))
        if body is None:
            return None, b""
        request = Received(parts[0].decode("latin-1"), b" ".join(parts[1:-1]).decode("latin-1"), headers, head, body, number)
        request.left_over = rest
        return request, rest

    def _length(self, sock, rest, length):
        while len(rest) < length:
            data = sock.recv(65536)
            if not data:
                return None, b""
            rest += data
        return rest[:length], rest[length:]

    def _chunks(self, sock, rest):
        body = b""
        while True:
            line, rest = read_until(sock, rest, b"\r\n")
            if line is None:
                return None, b""
            size = int(line.split(b";")[0], 16)
            if size == 0:
                return self._trailers(sock, rest, body)
            data, rest = self._length(sock, rest, size + 2)
            if data is None:
                return None, b""
            body += data[:-2]

    def _trailers(self, sock, rest, body):
        line = b"?"
        while line:
            line, rest = read_until(sock, rest, b"\r\n")
            if line is None:
                return None, b""
        return body, rest


def ambiguities(request):
    """What two parsers could read differently in a forwarded request; empty if nothing."""
    first, *lines = request.head.split(b"\r\n")
    found = [] if _LINE.match(first) else [f"request line {first!r}"]
    found += [f"field {line!r}" for line in lines if not _FIELD.match(line)]
    names = [n.lower().replace("_", "-") for n, _ in request.headers]
    if names.count("host") != 1:
        found.append(f"{names.count('host')} Host fields")
    if "transfer-encoding" in names:
        found.append("a Transfer-Encoding")
    if names.count("content-length") != 1 or request.header("content-length") != str(len(request.body)):
        found.append(f"a Content-Length of {[v for n, v in request.headers if n.lower() == 'content-length']} for {len(request.body)} bytes")
    if request.left_over:
        found.append(f"bytes behind the end: {request.left_over[:40]!r}")
    return found
