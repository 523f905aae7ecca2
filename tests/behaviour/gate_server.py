"""A server that behaves as its first argument says; runs alone in a container.

It listens on POD_IP, port 8888. `touch` and the time since its start decide what
it answers, so that a test needs to tell it nothing.
"""

import os
import random
import signal
import socket
import sys
import threading
import time

BEGAN = time.monotonic()
PREFIX = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "/")
LISTENING = []
NO_CONTENT = "Content-Length: 0\r\nConnection: close\r\n\r\n"


def reply(status, *headers):
    lines = [f"HTTP/1.1 {status} x", *headers]
    return ("\r\n".join(lines) + "\r\n" + NO_CONTENT).encode()


def age():
    return time.monotonic() - BEGAN


ANSWERS = {
    "ok": lambda path: reply(200),
    "late": lambda path: reply(200),
    "stubborn": lambda path: reply(200),
    "very-late": lambda path: reply(200),
    "recovers": lambda path: reply(500) if age() < 4 else reply(200),
    "not-found": lambda path: reply(404),
    "login": lambda path: reply(302, f"Location: {PREFIX}login?next=x"),
    "to-itself": lambda path: reply(302, f"Location: {path}"),
    "to-spawn": lambda path: reply(302, "Location: /hub/spawn/me"),
    "to-other-host": lambda path: reply(302, "Location: http://elsewhere.example/x"),
    "dies": lambda path: reply(503),
    "found-late": lambda path: reply(404) if age() < float(sys.argv[2]) else reply(200),
    "stamped": lambda path: reply(200, f"X-Listening-Since: {LISTENING[0]:.6f}"),
    "sickens": lambda path: reply(200) if age() < 10 else reply(503),
    "junk": lambda path: b"this is no HTTP\r\n\r\n",
}
DELAYS = {
    "late": 5,
    "very-late": float(sys.argv[2]),
    # at another moment each time, as real servers are
    "stamped": random.uniform(0.2, 3),  # noqa: S311
}


def serve(connection, mode):
    with connection:
        if mode == "silent":
            threading.Event().wait()
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(4096)
            if not part:
                return
            request += part
        path = request.split()[1].decode()
        if mode == "trickle":
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"y" * 1000:
                connection.sendall(bytes([byte]))
                time.sleep(1)
            return
        connection.sendall(ANSWERS[mode](path))


def main(mode):
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if mode == "never":
        signal.pause()
    if mode == "dies":
        threading.Timer(4, lambda: os._exit(7)).start()
    time.sleep(DELAYS.get(mode, 0))
    listener = socket.create_server((os.environ["POD_IP"], 8888))
    LISTENING.append(time.time())
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, mode), daemon=True).start()


main(sys.argv[1])
