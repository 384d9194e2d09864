"""A small HTTP server of range reads on the loopback, with a latency of its own.

`python -m workers.benches.range_server FOLDER LATENCY_MS` prints its port and serves
`/BUCKET/NAME` as S3 does, as far as a GET with a Range header goes.
"""

from __future__ import annotations

import asyncio
import re
import sys
from functools import partial
from pathlib import Path
from urllib.parse import unquote

_RANGE = re.compile(rb"\r\nrange: *bytes=(\d*)-(\d*)", re.IGNORECASE)


async def _serve(
    folder: Path, latency_s: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if latency_s:
                await asyncio.sleep(latency_s)
            writer.write(_answer(folder, head))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _answer(folder: Path, head: bytes) -> bytes:
    name = unquote(head.split(b" ", 2)[1].decode()).split("?")[0].lstrip("/").partition("/")[2]
    path = folder / name
    size = path.stat().st_size
    start, end = _bounds(head, size)
    with path.open("rb") as file:
        file.seek(start)
        body = file.read(end - start)
    lines = (
        "HTTP/1.1 206 Partial Content",
        f"Content-Length: {len(body)}",
        f"Content-Range: bytes {start}-{end - 1}/{size}",
        'ETag: "bench"',
        "Last-Modified: Mon, 30 Nov 2026 10:00:00 GMT",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _bounds(head: bytes, size: int) -> tuple[int, int]:
    match = _RANGE.search(head)
    if match is None:
        return 0, size
    if not match[1]:
        return max(0, size - int(match[2])), size
    return int(match[1]), min(size, int(match[2]) + 1 if match[2] else size)


async def _main(folder: Path, latency_s: float) -> None:
    serve = partial(_serve, folder, latency_s)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), float(sys.argv[2]) / 1_000))
