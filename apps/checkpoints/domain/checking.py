"""Is this checkpoint whole? Its names, its mark and its headers, and what was not looked at."""

from __future__ import annotations

from dataclasses import dataclass

from apps.checkpoints.domain import contents
from apps.checkpoints.domain import inventory as inventories
from apps.checkpoints.domain.codes import (
    LOADS_WRONG,
    CheckpointFinding,
    Code,
    Level,
    finding,
    named,
)
from apps.checkpoints.domain.headers.base import CheckPolicy
from apps.checkpoints.domain.inventory import Inventory
from apps.checkpoints.domain.layouts import BY_NAME
from apps.checkpoints.domain.layouts.base import FoundStep, Mark
from apps.checkpoints.domain.reading import Reader, Source
from apps.checkpoints.domain.tree import Tree

PAYLOAD = (
    "the numbers inside the tensors: headers and sizes do not show a flipped bit, only a full hash "
    "does"
)


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found. bytes_read of bytes_total: how little of the checkpoint was read for it.
    unchecked: in plain words, what was not looked at or could not be."""

    level: Level
    findings: tuple[CheckpointFinding, ...]
    bytes_read: int
    bytes_total: int
    unchecked: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the checkpoint may be offered for a restore."""
        return self.level is not Level.LISTED and not any(f.fatal for f in self.findings)

    @property
    def loadable(self) -> bool:
        """Whether a loader would take it. Some load without an error and give wrong tensors."""
        return not any(f.fatal and f.code not in LOADS_WRONG for f in self.findings)


def check(
    found: FoundStep,
    reader: Reader,
    inventory: Inventory | None = None,
    policy: CheckPolicy = CheckPolicy(),  # noqa: B008 - a frozen value
) -> Report:
    """What the names, the mark and the headers of a checkpoint prove.

    reader: of the tree that the step was found in. inventory: what was there at commit, names
    relative to the step. Reads O(headers) bytes, never the tensors, runs nothing that it reads, and
    raises nothing for bad content: that is a finding. Level committed: the framework said that the
    save is complete. headers_verified: and every header agrees with every size.
    """
    source = Source(reader, policy.workers)
    mark = BY_NAME[found.layout].marked(found, source)
    lost = frozenset(inventory or ()) - found.files.keys()
    seen = contents.check(found, source, policy, lost)
    findings = (
        *mark.findings,
        *found.findings,
        *seen.findings,
        *_against_inventory(found.files, inventory),
    )
    return Report(
        level=_level(mark, findings, whole=not seen.skipped),
        findings=findings,
        bytes_read=source.bytes_read,
        bytes_total=sum(stat.size for stat in found.files.values()),
        unchecked=(*mark.unchecked, *seen.unchecked, PAYLOAD),
    )


def _level(mark: Mark, findings: tuple[CheckpointFinding, ...], *, whole: bool) -> Level:
    fatal = any(f.fatal for f in findings)
    if mark.committed is False or (mark.committed is None and fatal):
        return Level.LISTED
    return Level.COMMITTED if fatal or not whole else Level.HEADERS_VERIFIED


def _against_inventory(files: Tree, taken: Inventory | None) -> tuple[CheckpointFinding, ...]:
    """What was lost, replaced or written again since commit. Later files hurt no restore."""
    if taken is None:
        return ()
    now = inventories.of_listing(files)
    changes = inventories.damage(taken, now)
    text = f"since the commit {'; '.join(changes)}"
    lost = (finding(Code.INVENTORY_MISMATCH, text),) if changes else ()
    again = inventories.rewritten(taken, now)
    return (*lost, *named(Code.REWRITTEN, "with a later time than at the commit", again))
