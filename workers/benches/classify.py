"""`bench classify`: how many lines a CPU second get their fault class.

Measured with all built-in classes, and none or 50 of a project.

Material: the made-up job of `bench logs` (half an hour, times --scale), read as files of ranks, in
batches of one host; its failure storm alone; and the whole with a word in each line that no other
line has, so that nothing repeats. Reading the lines is not measured, and every line is looked at
whatever its severity.
"""

from __future__ import annotations

import string
import time
from collections.abc import Iterable, Iterator
from itertools import product

from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import SegmentMeta
from apps.logs.domain.triage.classify import Taxonomy, taxonomy
from apps.logs.domain.triage.faultlines import faults_in
from apps.logs.domain.triage.ownclasses import OwnClass, OwnClasses
from apps.logs.domain.triage.owntaxonomy import with_own
from workers.benches import logcorpus
from workers.benches.logtape import CorpusOptions, Said, Tape, stamp
from workers.benches.report import BenchOptions, BenchReport

HOURS = 0.5
OWN = 50
BATCH = 20_000
_STORM_S = 240
"""How long before the end the storm begins (logcorpus.py)."""
_SEEN_NS = 1_795_985_000_000_000_000


def run(options: BenchOptions) -> BenchReport:
    """keys: classes of the project instead of 50."""
    tape = Tape(CorpusOptions(hours=HOURS, scale=options.scale))
    logcorpus.play(tape)
    storm_s = max(said.at_s for said in tape.lines) - _STORM_S
    storm = [said for said in tape.lines if said.at_s >= storm_s]
    words = map("".join, product(string.ascii_lowercase, repeat=5))
    alone = (said._replace(text=f"{said.text} {next(words)}") for said in tape.lines)
    materials = {"job": tape.lines, "storm": storm, "no_two_alike": alone}
    own = options.keys or OWN
    kinds = {0: taxonomy(), own: with_own(taxonomy(), OwnClasses(own_classes(own), version=1))}
    figures: dict[str, int] = {}
    for name, said in materials.items():
        batches = list(_batches(said, tape))
        figures[f"{name}_lines"] = sum(map(len, batches))
        for count, classes in kinds.items():
            figures[f"{name}_lines_per_cpu_s_{count}_own"], found = _speed(batches, classes)
        figures[f"{name}_with_a_class"] = found
    rows = tuple((name.replace("_", " "), f"{value:,}") for name, value in figures.items())
    return BenchReport(("what", "value"), rows, figures)


def own_classes(count: int) -> tuple[OwnClass, ...]:
    """Two patterns each: one begins with a text that ordinary lines have, too."""
    return tuple(
        OwnClass(
            key=f"own_{at}",
            title=f"Lane {at} of the fabric",
            patterns=(
                rf"iteration +\d+/.* lost {at} of its lanes",
                rf"(?i)fabric plane {at}\b.*(?:down|degraded)",
            ),
        )
        for at in range(count)
    )


def _batches(lines: Iterable[Said], tape: Tape) -> Iterator[LineColumns]:
    """The lines of each host, up to BATCH at once."""
    of_host: dict[int, list[str]] = {}
    for said in lines:
        texts = of_host.setdefault(said.host, [])
        texts.append(f"{stamp(said.at_s)} {said.text or '(empty)'}")
        if len(texts) == BATCH:
            yield _read(tape.hosts[said.host], of_host.pop(said.host))
    for host, texts in of_host.items():
        yield _read(tape.hosts[host], texts)


def _read(node: str, texts: list[str]) -> LineColumns:
    meta = SegmentMeta(
        source="host.log", channel="stderr", local_rank=None, node=node, offset=0, seen_ns=_SEEN_NS
    )
    return LineColumns.of(parse_segment(meta, ("\n".join(texts) + "\n").encode()).lines)


def _speed(batches: list[LineColumns], classes: Taxonomy) -> tuple[int, int]:
    """(lines a CPU second, lines with a class); what is remembered of lines comes from this pass
    alone, except for the first batch."""
    faults_in(batches[0], classes, every=True)
    began_s = time.process_time()
    found = sum(len(faults_in(batch, classes, every=True).by_line) for batch in batches)
    return round(sum(map(len, batches)) / (time.process_time() - began_s)), found
