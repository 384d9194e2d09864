"""The log corpus of `bench logs`: one training job of 64 ranks on 8 hosts, the same in every run.

Host clocks are skewed, some lines are exact duplicates, and it ends in a failure storm. Written to
a folder:
- corpus.ndjson: one JSON object a line in order of arrival: ts, host, rank (-1 = a line of the
  host), source, level, msg.
- raw/HOST/rank_NNN.log, raw/HOST/host.log: `ts msg` in order of the host's clock, as files.
- truth.json: what right answers to the queries are, and where the failure began.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from workers.benches.logstart import start
from workers.benches.logsteps import STEP_S, Trainer, host_lines, save
from workers.benches.logstorm import storm
from workers.benches.logtape import NO_RANK, CorpusOptions, Said, Tape, stamp

NEEDLE = "needle7f3a9c"
RARE = r"Xid \(PCI:[0-9a-f:]+\): (48|79|94|95)"
HEAVY = r"iteration +\d+/ *\d+ .*grad norm: [1-9]\d+\.\d+"
_STORM_S = 240
_STARTS = (0.0, 0.31, 0.55, 0.83)


class Arrived(NamedTuple):
    """A line as the server gets it. host_s: by the clock of its host."""

    host_s: float
    said: Said

    @property
    def text(self) -> str:
        """Never empty."""
        return self.said.text or "(empty)"


def folder_of(home: Path, options: CorpusOptions) -> Path:
    """The corpus of these options below `home`; made if it is not there yet."""
    name = f"{options.seed}-{options.hours:g}h-x{options.scale:g}-{options.ranks}"
    folder = home / "bench-logs" / name
    if not (folder / "truth.json").exists():
        write(folder, options)
    return folder


def write(folder: Path, options: CorpusOptions) -> None:
    """Makes the corpus. truth.json comes last: it says that the rest is whole."""
    tape = Tape(options)
    steps = play(tape)
    lines = _arrived(tape)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.ndjson").open("w", buffering=1 << 22, encoding="utf-8") as out:
        for line in lines:
            said = line.said
            out.write(
                f'{{"ts":"{stamp(line.host_s)}","host":"{tape.hosts[said.host]}"'
                f',"rank":{said.rank},"source":"{said.source}","level":"{said.level}"'
                f',"msg":{json.dumps(line.text)}}}\n'
            )
    _write_files(folder / "raw", tape, lines)
    truth = _truth(tape, lines) | {"steps": steps}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")


def play(tape: Tape) -> int:
    """The whole job onto the tape; how many steps it made."""
    seconds = tape.options.seconds
    starts, end_s = [seconds * share for share in _STARTS], seconds - _STORM_S
    for attempt, at_s in enumerate(starts):
        start(tape, at_s + 8, attempt)
    needles = {
        int(share * end_s / STEP_S): rank
        for share, rank in ((0.37, 5), (0.61, 40 % tape.ranks), (0.9, 63 % tape.ranks))
    }
    trainer, at_s, attempt = Trainer(tape), 20.0, 1
    while at_s < end_s:
        if attempt < len(starts) and at_s > starts[attempt]:
            at_s = starts[attempt] + 24
            attempt += 1
            trainer.step -= 130
        trainer.advance()
        for rank in range(tape.ranks):
            trainer.speak(at_s, rank)
        if trainer.count in needles:
            _needle(tape, at_s, needles[trainer.count])
        if trainer.step % 200 == 0:
            save(tape, at_s, trainer.step)
        if trainer.count % 24 == 0:
            host_lines(tape, at_s)
        at_s += STEP_S
    storm(tape, end_s)
    return trainer.count


def _needle(tape: Tape, at_s: float, rank: int) -> None:
    said = (
        f"[rank{rank}]: checkpoint shard verify: sha mismatch on __{rank}_2.distcp"
        f" expected 0x41d{tape.hex(6)}{NEEDLE}q{tape.hex(4)} got 0x{tape.hex(16)},"
        " re-uploading (attempt 1)"
    )
    tape.add(at_s + 0.9, rank, "ckpt", "ERROR", said)


def _arrived(tape: Tape) -> list[Arrived]:
    """In order of arrival: by true time, plus some delay of the network."""
    lines = sorted(
        tape.lines,
        key=lambda said: (said.at_s + 0.05 + _delay_s(said.number), said.number),
    )
    return [Arrived(said.at_s + tape.skew_s[said.host], said) for said in lines]


def _delay_s(number: int) -> float:
    return ((number * 2654435761) % 1000) / 1000 * 0.4


def _write_files(folder: Path, tape: Tape, lines: Sequence[Arrived]) -> None:
    with ExitStack() as stack:
        files = {}
        for host, name in enumerate(tape.hosts):
            (folder / name).mkdir(parents=True, exist_ok=True)
            ranks = range(host * tape.gpus, (host + 1) * tape.gpus)
            names = {NO_RANK: "host.log"} | {rank: f"rank_{rank:03d}.log" for rank in ranks}
            for rank, file in names.items():
                path = folder / name / file
                out = path.open("w", buffering=1 << 18, encoding="utf-8")
                files[rank, host] = stack.enter_context(out)
        for line in sorted(lines, key=lambda line: line.host_s):
            said = line.said
            files[said.rank, said.host].write(f"{stamp(line.host_s)} {line.text}\n")


def _truth(tape: Tape, lines: Sequence[Arrived]) -> dict[str, Any]:
    """Right answers, counted line by line."""
    storm_s = tape.options.seconds - _STORM_S
    window = (storm_s - 60, storm_s + 240)
    rare, heavy = re.compile(RARE), re.compile(HEAVY)
    failed = [line for line in lines if line.said.level == "ERROR"]
    failed = [line for line in failed if window[0] <= line.host_s < window[1]]
    return {
        "lines": len(lines),
        "msg_bytes": sum(len(line.text) + 1 for line in lines),
        "by_level": dict(Counter(line.said.level for line in lines)),
        "by_source": dict(Counter(line.said.source for line in lines)),
        "root_rank": tape.root_rank,
        "root_host": tape.hosts[tape.root_rank // tape.gpus],
        "storm_start": stamp(storm_s),
        "q3_window": [stamp(at_s) for at_s in window],
        "q3_error_rank": sum(line.said.rank == tape.root_rank for line in failed),
        "q3_error_all": len(failed),
        "needle": NEEDLE,
        "needle_lines": sum(NEEDLE in line.text for line in lines),
        "regex_rare": RARE,
        "regex_rare_lines": sum(rare.search(line.text) is not None for line in lines),
        "regex_heavy": HEAVY,
        "regex_heavy_lines": sum(heavy.search(line.text) is not None for line in lines),
        "minute_host_buckets": len({(x.said.host, stamp(x.host_s)[:16]) for x in lines}),
        "duplicates": _duplicates(lines),
        "first": stamp(min(line.host_s for line in lines)),
        "last": stamp(max(line.host_s for line in lines)),
        "skew": {name: round(s, 3) for name, s in zip(tape.hosts, tape.skew_s, strict=True)},
    }


def _duplicates(lines: Sequence[Arrived]) -> int:
    """How many lines repeat another of the same process, time and text."""
    same = Counter((x.said.rank, x.said.host, stamp(x.host_s), x.text) for x in lines)
    return sum(times - 1 for times in same.values())
