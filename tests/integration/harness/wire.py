"""A client that hides nothing: raw bytes out, framing seen on the way in. One connection, used by one test thread."""
import json
import select
import socket
import struct
from urllib.parse import urlsplit


class Answer:
    """A response while it arrives. `ended` is '' until the body is over, then 'length', 'chunked', 'close' or 'cut':
    'cut' means that the connection went away before the framing said so."""

    def __init__(self, connection, status, headers, bodyless):
        self.connection, self.status, self.headers = connection, status, headers
        self.body, self.ended = b"", ""
        length = self.header("content-length")
        self._chunked = "chunked" in (self.header("transfer-encoding") or "")
        self._left = 0 if bodyless else int(length) if length is not None else None
        if not self._chunked and self._left == 0:
            self.ended = "length"

    def header(self, name):
        values = [v for n, v in self.headers if n.lower() == name.lower()]
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)

    def read_piece(self):
        """Some more bytes of the body, b'' at its end."""
        if self.ended:
            return b""
        piece = self._chunk() if self._chunked else self._plain()
        self.body += piece
        return piece

    def read_all(self):
        while not self.ended:
            self.read_piece()
        return self

    def read_until(self, text):
        """Reads on until the body so far contains these bytes."""
        while text not in self.body:
            if self.ended:
                raise AssertionError(f"body ended ({self.ended}) without {text!r}: {self.body[-400:]!r}")
            self.read_piece()
        return self

    def _plain(self):
        data = self.connection.take(65536 if self._left is None else min(self._left, 65536))
        if not data:
            self.ended = "close" if self._left is None else "cut"
        elif self._left is not None:
            self._left -= len(data)
            self.ended = "length" if self._left == 0 else ""
        return data

    def _chunk(self):
        line = self.connection.take_line()
        if line is None:
            self.ended = "cut"
            return b""
        size = int(line.split(b";")[0], 16)
        data = self.connection.take_exactly(size)
        if data is None or self.connection.take_line() is None:
            self.ended = "cut"
            return data or b""
        if size == 0:
            self.ended = "chunked"
        return data


class Connection:
    def __init__(self, url, timeout=30.0, receive_buffer=None):
        """receive_buffer: bytes that the kernel holds for a client that does not read."""
        parts = urlsplit(url)
        self.host = f"{parts.hostname}:{parts.port}"
        self.sock = socket.socket()
        self.sock.settimeout(timeout)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.connect((parts.hostname, parts.port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.sock.sendall(data)

    def request(self, method, target, body=None, headers=()):
        """Sends a request; a dict becomes JSON. Content-Length and Host are added unless given."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        headers, names = list(headers), {n.lower() for n, _ in headers}
        if "host" not in names:
            headers.insert(0, ("Host", self.host))
        if body is not None and "content-length" not in names and "transfer-encoding" not in names:
            headers.append(("Content-Length", str(len(body))))
        if body is not None and "content-type" not in names:
            headers.append(("Content-Type", "application/json"))
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers) + "\r\n"
        self.send(head.encode("latin-1") + (body or b""))
        return self

    def answer(self, method="POST"):
        """Reads the head of the next answer (1xx are passed over)."""
        while True:
            line = self.take_line()
            if line is None:
                raise ConnectionResetError("closed before an answer's head")
            status, headers = int(line.split(b" ")[1]), []
            while True:
                line = self.take_line()
                if line is None:
                    raise ConnectionResetError("closed inside an answer's head")
                if not line:
                    break
                name, _, value = line.decode("latin-1").partition(":")
                headers.append((name, value.strip()))
            if status >= 200:
                return Answer(self, status, headers, method == "HEAD" or status in (204, 304))

    def exchange(self, method, target, body=None, headers=()):
        """Request and whole answer."""
        return self.request(method, target, body, headers).answer(method).read_all()

    def post(self, target, body, headers=()):
        return self.exchange("POST", target, body, headers)

    def get(self, target, headers=()):
        return self.exchange("GET", target, None, headers)

    def closed(self):
        """True if the peer closes without another byte (waits for the socket's time-out at most)."""
        return not self._buffer and self._receive() == b""

    def is_readable(self, within=0.0):
        """Whether bytes or an end are there to be read; waits for them that many seconds."""
        poll = select.poll()  # not select(), which knows 1,024 descriptors
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(within * 1000))

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close_writing(self):
        self.sock.shutdown(socket.SHUT_WR)

    def rest_until(self, ending):
        """All bytes until these, or until the peer closes."""
        parts = [self._buffer]
        while not parts[-1].endswith(ending) and (data := self._receive()):
            parts.append(data)
        self._buffer = b""
        return b"".join(parts)

    def rest(self):
        """All bytes until the peer closes."""
        while data := self._receive():
            self._buffer += data
        data, self._buffer = self._buffer, b""
        return data

    # ---- bytes ----
    def _receive(self):
        try:
            return self.sock.recv(65536)
        except ConnectionError:
            return b""

    def take(self, most):
        if not self._buffer:
            self._buffer = self._receive()
        data, self._buffer = self._buffer[:most], self._buffer[most:]
        return data

    def take_exactly(self, size):
        while len(self._buffer) < size:
            data = self._receive()
            if not data:
                return None
            self._buffer += data
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def take_line(self):
        while b"\r\n" not in self._buffer:
            data = self._receive()
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line


def post(url, target, body, headers=()):
    """One POST on a connection of its own."""
    with Connection(url) as connection:
        return connection.post(target, body, headers)


def get(url, target, headers=()):
    with Connection(url) as connection:
        return connection.get(target, headers)


# The ways in which a client leaves a Connection.
LEAVE = {"closes": lambda c: c.close(), "resets": lambda c: c.reset(), "half-closes": lambda c: c.close_writing()}
