"""Lines of the run "boom" for the tests of its logs pages, and streams read to their end."""

from __future__ import annotations

import json

from apps.logs.store import write_lines
from apps.runs import store as runs
from tests.log_samples import parse

DAY = "2026-11-29 12:"
PATH = "/runs/boom/logs/"
NODES = ("gpu-a01", "gpu-b02")


def line(second, rank, text, level="INFO"):
    """One line of a rank file."""
    return f"{DAY}{second // 60:02d}:{second % 60:02d}.000 [{level}] [rank{rank}] {text}\n"


def tell(text, *, offset=0, node=NODES[0], batch_id="b", attempt=0):
    """Stores one batch of one file."""
    run_id = runs.ensure_run("boom")
    parsed = parse(text, offset=offset, node=node)
    return write_lines(run_id, attempt, node, [parsed], batch_id=f"{batch_id}-{offset}")


def told(number=6):
    """`number` lines on two hosts, ranks 0 and 5 by turns, a second apart; the third an error."""
    for node, rank in zip(NODES, (0, 5), strict=True):
        mine = [i for i in range(number) if (i % 2 == 0) == (rank == 0)]
        level = {2: "ERROR"}
        tell("".join(line(i, rank, f"word{i:03d}", level.get(i, "INFO")) for i in mine), node=node)


def stream(client, path="lines", **sent):
    """All parts of a streamed answer."""
    answer = client.get(PATH + path, sent)
    assert answer.status_code == 200, answer.content
    return [json.loads(part) for part in b"".join(answer).splitlines()]


def words(parts):
    """The last word of every line, in the order in which they came."""
    return ["".join(row["pieces"]).split()[-1] for part in parts for row in part.get("lines", ())]


def rows(parts):
    """Every line that came."""
    return [row for part in parts for row in part.get("lines", ())]
