"""A process of its own that connects, does part of what a client does, and leaves: many times, at random, seeded.
    python leaver.py URL COUNT SEED"""
import json
import random
import socket
import struct
import sys
from urllib.parse import urlsplit

from requests import DIALECTS, PATHS, body  # beside this file: it runs as a script


def main(url, count, seed):
    rng = random.Random(seed)
    address = (urlsplit(url).hostname, urlsplit(url).port)
    seen = 0
    for _ in range(count):
        dialect = rng.choice(DIALECTS)
        content = json.dumps(body(dialect, "x" * rng.choice((10, 10, 2_000, 60_000)), stream=rng.random() < 0.7, max_tokens=200)).encode()
        head = (f"POST {PATHS[dialect]} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nx-session-key: s{rng.randrange(300)}\r\n"
                f"Content-Length: {len(content)}\r\n\r\n").encode()
        whole = head + content
        sent = rng.choice((0, rng.randrange(len(head)), rng.randrange(len(whole)), len(whole), len(whole), len(whole), 2 * len(whole)))
        sock = socket.create_connection(address, timeout=20)
        try:
            sock.sendall((whole + whole)[:sent])
            if sent >= len(whole):
                for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 5))):
                    sock.settimeout(rng.choice((0.001, 0.02, 0.2)))
                    if not sock.recv(rng.choice((1, 200, 65536))):
                        break
                    seen += 1
        except OSError:
            pass
        if rng.random() < 0.5:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif rng.random() < 0.3:
            try:
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        sock.close()
    print(count, seen)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
