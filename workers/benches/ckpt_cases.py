"""Checkpoints of which the truth is known, each checked as a storage root is."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from apps.checkpoints.domain import inventory, layouts
from apps.checkpoints.domain.checking import Report, check
from apps.checkpoints.domain.inventory import Inventory
from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.domain.root import check_root
from apps.checkpoints.storage.posix import PosixFolder
from apps.core.errors import BadPayload

_LINK_BYTES = 255


def judged(data: Path, scratch: Path) -> dict[str, dict[str, Any]]:
    """Case -> what it got and whether that is what truth.json says. Raises BadPayload without one.

    The copies have one modification time, except where the truth says otherwise: a checkout or a
    plain copy gives any.
    """
    truth = data / "truth.json"
    if not truth.is_file():
        raise BadPayload(f"no {truth}", hint="--data wants a folder of cases with a truth.json")
    cases: dict[str, dict[str, Any]] = orjson.loads(truth.read_bytes())
    return {case: _judged(data, scratch, case, said) for case, said in cases.items()}


def _judged(data: Path, scratch: Path, case: str, said: Mapping[str, Any]) -> dict[str, Any]:
    place = _copied(data / case, scratch / case, said.get("mtime_after_marker_s", {}))
    before = said.get("inventory_from")
    taken = _inventories(_copied(data / before, scratch / "taken" / case, {})) if before else {}
    folder = PosixFolder(str(place.parent if place.is_file() else place))
    files = folder.listing().files
    tree = {place.name: files[place.name]} if place.is_file() else files
    steps = layouts.find(tree, place.name)
    reports = [check(step, folder, taken.get(step.root_name)) for step in steps]
    root = check_root(tree, steps, folder)
    told = [f for report in reports for f in report.findings] + list(root)
    loadable = all(r.loadable for r in reports) and not any(f.fatal for f in root)
    codes = sorted({finding.code for finding in told})
    right_steps = _right_steps(list(zip(steps, reports, strict=True)), said)
    return {
        "findings": codes,
        "expected": sorted(said["expect"]),
        "exact": codes == sorted(said["expect"]) and bool(steps) and right_steps,
        "loadable": loadable,
        "loadable_right": loadable == said["loadable"],
        "messages": [finding.message for finding in told],
        "steps": [_told(step, report) for step, report in zip(steps, reports, strict=True)],
        "bytes_read": sum(report.bytes_read for report in reports),
        "bytes_total": sum(report.bytes_total for report in reports),
    }


def _right_steps(found: list[tuple[FoundStep, Report]], said: Mapping[str, Any]) -> bool:
    """Whether the steps are those of the truth, and the bad ones among them, where it names any."""
    steps = [step.step for step, _ in found]
    bad = [step.step for step, report in found if report.findings]
    return bool(said.get("steps", steps) == steps and said.get("bad_steps", bad) == bad)


def _told(step: FoundStep, report: Report) -> dict[str, Any]:
    return {
        "step": step.step,
        "layout": step.layout,
        "level": report.level.value,
        "findings": [finding.code for finding in report.findings],
        "unchecked": report.unchecked,
    }


def _inventories(place: Path) -> dict[str, Inventory]:
    """What each step of a whole tree had, by its name."""
    tree = PosixFolder(str(place)).listing().files
    names = [(step, step.root_name) for step in layouts.find(tree, place.name)]
    return {n: inventory.of_sizes(_sizes(step)) for step, n in names}


def _sizes(step: FoundStep) -> dict[str, int]:
    return {name: stat.size for name, stat in step.files.items()}


def _copied(source: Path, target: Path, late_s: Mapping[str, float]) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        _copy_file(source, target)
    now_ns = time.time_ns() - 86_400 * 10**9
    for path in _files(target):
        name = str(path.relative_to(target)) if target.is_dir() else path.name
        at_ns = now_ns + int(late_s.get(name, 0) * 1e9)
        os.utime(path, ns=(at_ns, at_ns))
    return target


def _copy_file(source: Path, target: Path) -> None:
    """A file, and what it links to: a checkout may have made a link a file that holds a name."""
    linked = source.readlink() if source.is_symlink() else _name_in(source)
    if linked is None:
        shutil.copyfile(source, target)
        return
    shutil.copyfile(source.parent / linked, target.parent / linked)
    target.symlink_to(linked)


def _name_in(source: Path) -> Path | None:
    """The name of another file in the folder, if that is all that a file holds."""
    if source.stat().st_size > _LINK_BYTES:
        return None
    text = source.read_bytes().decode("utf-8", "replace").strip()
    named = text != source.name and "/" not in text and text.isprintable()
    return Path(text) if named and text and (source.parent / text).is_file() else None


def _files(target: Path) -> Iterator[Path]:
    paths = target.rglob("*") if target.is_dir() else [target]
    return (path for path in paths if path.is_file())
