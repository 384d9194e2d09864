"""Is a server ready, and where is room for one? Asked in its own protocol over a plain socket."""

from __future__ import annotations

import socket
import struct

_TIMEOUT_S = 2.0
_PROTOCOL_3 = 196608
_ANSWER_BYTES = 4096
STARTING_UP = "the database is starting up"


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def postgres(port: int, *, user: str = "probe") -> str | None:
    """None if the server at 127.0.0.1:`port` takes connections, else why not yet.

    Sends the opening message of protocol 3 and reads the first answer: a request for
    authentication means ready; SQLSTATE 57P03 means that it starts up, recovers or stops.
    """
    words = f"user\0{user}\0database\0postgres\0\0".encode()
    opening = struct.pack("!ii", len(words) + 8, _PROTOCOL_3) + words
    answer = _ask(port, opening)
    if answer[:1] == b"R":
        return None
    if b"C57P03\0" in answer:
        return "the database is shutting down" if b"shutting down" in answer else STARTING_UP
    if answer[:1] == b"E":
        return "the database answers with an error"
    return "no answer yet"


def valkey(port: int, password: str) -> str | None:
    """None if the server at 127.0.0.1:`port` answers PONG, else why not yet."""
    answer = _ask(port, f"AUTH {password}\r\nPING\r\n".encode(), until=b"PONG")
    if b"+PONG" in answer:
        return None
    if b"-LOADING" in answer:
        return "the queue is loading its log"
    return "the queue refuses the password" if b"-WRONGPASS" in answer else "no answer yet"


def _ask(port: int, question: bytes, *, until: bytes = b"") -> bytes:
    """What the server says first; empty if it does not listen or closes."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S) as link:
            link.sendall(question)
            answer = link.recv(_ANSWER_BYTES)
            while until and answer and until not in answer and answer.count(b"\r\n") < 2:
                more = link.recv(_ANSWER_BYTES)
                if not more:
                    break
                answer += more
            return answer
    except OSError:
        return b""
