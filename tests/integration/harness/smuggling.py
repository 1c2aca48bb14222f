"""The requests of tests/data/smuggling, and what a proxy before a recording engine makes of them: how many requests were
answered, how many reached the engine and how they were framed there."""
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from . import process
from .inputs import entries
from .waiting import wait_until

REFUSED = [entry for name in ("framing", "head", "line", "chunks") for entry in entries(f"smuggling/{name}.txt")]
TAKEN = entries("smuggling/taken.txt")
# Sent behind each of them on the same connection.
CLEAN = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Clean: yes\r\nContent-Length: 13\r\nConnection: close\r\n\r\n"
         b'{"model":"m"}')


def send(url, raw, patience=20.0):
    """Sends raw as it is and reads until the peer closes or is silent for `patience` seconds.
    Returns (statuses of the final answers, whether the peer closed)."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=patience) as sock:
        seen = b""
        try:
            sock.sendall(raw)
            while data := sock.recv(65536):
                seen += data
        except TimeoutError:
            return statuses(seen), False
        except ConnectionError:
            pass
        return statuses(seen), True


def statuses(data):
    """Statuses of the answers in a byte stream; 1xx left out."""
    found = []
    while data:
        head, end, rest = data.partition(b"\r\n\r\n")
        match = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        if not match or not end:
            return found + ([int(match.group(1))] if match else [0])
        status = int(match.group(1))
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        data = rest[int(length.group(1)):] if length else b"" if status >= 200 else rest
        if status >= 200:
            found.append(status)
    return found


class Proxy:
    """nginx or haproxy, as they come, before one engine; ends with stop()."""

    def __init__(self, kind, engine):
        self.kind, self.folder = kind, Path(tempfile.mkdtemp(prefix=f"{kind}-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        config = self.folder / "config"
        config.write_text(self._config(kind, port, engine))
        command = ["nginx", "-p", self.folder, "-c", config, "-e", "stderr"] if kind == "nginx" else ["haproxy", "-f", config]
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        wait_until(self._listens, 10, f"{kind} listens: {(self.folder / 'log').read_text()}")

    def _listens(self):
        try:
            socket.create_connection(urlsplit(self.url).netloc.split(":"), timeout=1).close()
            return True
        except OSError:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            return False

    def _config(self, kind, port, engine):
        if kind == "haproxy":
            return f"""global
    maxconn 100
defaults
    mode http
    timeout connect 2s
    timeout client 20s
    timeout server 20s
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    server s 127.0.0.1:{engine.port}
"""
        return f"""daemon off; master_process off; pid {self.folder}/pid;
events {{ worker_connections 64; }}
http {{
  access_log off; keepalive_timeout 20;
  client_body_temp_path {self.folder}; proxy_temp_path {self.folder}; fastcgi_temp_path {self.folder};
  uwsgi_temp_path {self.folder}; scgi_temp_path {self.folder};
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{engine.port}; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}
}}
"""

    def version(self):
        flag = ["nginx", "-v"] if self.kind == "nginx" else ["haproxy", "-v"]
        said = subprocess.run(flag, capture_output=True, text=True, env={"PATH": "/usr/sbin:/usr/bin"}, timeout=10)
        return re.search(r"\d+\.\d+\.\d+", said.stdout + said.stderr).group(0)

    def stop(self):
        process.end(self.process)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
