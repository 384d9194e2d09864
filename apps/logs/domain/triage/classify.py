"""Which fault class a log line belongs to, and how severe a line without a level is.

The classes are data (apps/logs/taxonomy.yaml). Most lines match nothing, so a line first has to
contain one of the anchors, then a literal of a class, before a regex is tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

import yaml

from apps.core.errors import AppError
from apps.core.records import Severity
from apps.logs.domain.reading.shapes import shaped
from apps.logs.domain.triage.faultclass import ROLES, FaultClass
from apps.logs.domain.triage.ownmatching import OwnMatcher
from apps.logs.domain.triage.prefilter import Prefilter

MAX_CLASSIFIED_CHARS = 4096
MAX_SHAPES = 4_000

# Lower-case pieces without digits; every literal of the taxonomy contains one (a test checks it).
ANCHORS = (
    "error", "fail", "exce", "warn", "exit", "kill", "signal", "sigterm", "terminate", "interrupt",
    "fault", "unexpected", "assert", "invalid", "missing", "mismatch", "not found", "cannot",
    "nvrm", "xid", "fallen", "non-fatal", "cuda", "cublas", "cudnn", "gpus", "device",
    "misaligned", "launch", "forward compatibility", "not yet initialized", "nvlink",
    "fabricmanager", "peermem", "aer: ", "pcie", "slowdown", "thermal", "_reasons", "ecc",
    "memory", "oom", "timed out", "timeout", "deadline", "watchdog", "heartbeat", "desync",
    "not all ranks", "communicator ranks", "completed", "completion", "duplicate", "internal",
    "remote", "recv from", "connection", "refused", "unreachable", "broken pipe", "reset by",
    "gloo", "mlx", "link down", "async event", "insufficient power", "should dump", "sendbytes",
    "rendezvous", "client socket", "address already", "eaddrinuse", "errno", "no space", "lustre",
    "responding", "read-only", "nvme", "slow down", "requesttime", "directory", "headertoo",
    "metadata", "load key", "safetensor", "state_dict", "size mis", "reader",
    "writer", "loss: nan", "norm: nan", "found nan", "skipping step", "loss scale", "arrowinvalid",
    "cancelled", "preempt", "node_fail", "node failure", "srun", "low on resource", "reason",
    "crashloop", "back-off", "pod ", "deleted", "clock", "chronyd", "root cause",
    "worker (pid", "worker died", "killed", "oom-", "writing", "collective",
)  # fmt: skip
_MAX_BORING = 20_000
_MAX_BORING_BYTES = 512
_boring: set[bytes] = set()

_ADVICE = re.compile(
    r"For debugging consider|might be caused by|potential root causes|Compile with `TORCH_USE"
    r"|Search for `cuda|might be asynchronously reported|usually reflects"
    r"|To enable traceback see|typically caused by a remote worker"
)
_RAISED = ("Error", "Exception", "Interrupt", "Exit", "Fault", "Timeout")
_EXCEPTION = re.compile(rf"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:{'|'.join(_RAISED)})(?::\s|$)")
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")


class BadTaxonomy(AppError):
    """The shipped or overridden list of fault classes cannot be used."""


Literals = tuple[tuple[str, tuple[FaultClass, ...]], ...]
"""Each with the classes that have it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What messages that differ in their digits have in common.

    advice_at: from where on they only advise. literals: those that may be in one. likely: classes
    of them if that does not depend on the digits, else (). raised: an exception begins them.
    """

    advice_at: int | None
    literals: Literals
    likely: tuple[FaultClass, ...]
    raised: bool

    @property
    def means_nothing(self) -> bool:
        """Whether none of its messages can have a class."""
        return not self.literals and not self.raised


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """All classes. version is stored with every verdict and every stored line, and so is revision,
    that of the project's own classes; 0 without any.

    by_anchor: anchor -> shape of a literal -> literals; the anchor "" holds those to try on every
    line. prefilter: finds the shapes that known() does not mean nothing for.
    """

    version: int
    classes: Mapping[str, FaultClass]
    by_anchor: Mapping[str, Mapping[str, Literals]]
    prefilter: Prefilter
    own: OwnMatcher | None = None
    revision: int = 0
    _by_shape: dict[bytes, Shape] = field(default_factory=dict, compare=False)

    @property
    def label(self) -> str:
        """The version as it is stored: "3", or "3.7" with the seventh revision of a project."""
        return f"{self.version}.{self.revision}" if self.revision else str(self.version)

    def classify(self, message: str) -> FaultClass | None:
        """The class of one message (prefixes already stripped), or None.

        The first class of the project that matches; else, of several built-in ones, that of the
        highest match_priority, then specificity. Cost: see built_in(). Many lines at once:
        faultlines.faults_in().
        """
        own = None if self.own is None else self.own.first(message.encode("utf-8", "replace"))
        return self.built_in(message) if own is None else own

    def built_in(self, message: str) -> FaultClass | None:
        """The built-in class of one message.

        A thousand ranks that fail say the same but for numbers: what may fit is looked for once a
        shape (shapes.py). Cost: about 20 microseconds; 2 for a shape that was seen before.
        """
        text = message[:MAX_CLASSIFIED_CHARS]
        return self.fitting(self.known(shaped(text.encode("utf-8", "replace"))), text)

    def known(self, shape: bytes) -> Shape:
        """What holds for all messages of a shape, remembered. At most MAX_CLASSIFIED_CHARS."""
        found = self._by_shape.get(shape)
        if found is None:
            if len(self._by_shape) >= MAX_SHAPES:
                self._by_shape.clear()
            found = self._by_shape[shape] = self._of_shape(shape.decode())
        return found

    def fitting(self, shape: Shape, text: str) -> FaultClass | None:
        """The class of a message of that shape."""
        if shape.advice_at is not None:
            text = text[: shape.advice_at]
        likely = shape.likely or _classes_of(x for x in shape.literals if x[0] in text)
        matching = [f for f in likely if any(r.search(text) for r in f.regexes)]
        if matching:
            return max(matching, key=lambda f: (f.match_priority, f.specificity))
        return self.classes.get("py_exception") if shape.raised else None

    def _of_shape(self, shape: str) -> Shape:
        """Only literals may speak of digits, and those are looked at message by message."""
        advice = _ADVICE.search(shape)
        text = shape if advice is None else shape[: advice.start()]
        lowered = text.lower()
        literals = tuple(
            literal
            for anchor, by_shape in self.by_anchor.items()
            if anchor in lowered
            for literal_shape, literals in by_shape.items()
            if literal_shape in text
            for literal in literals
        )
        fixed = not any(map(str.isdecimal, "".join(literal for literal, _ in literals)))
        return Shape(
            advice_at=None if advice is None else advice.start(),
            literals=literals,
            likely=_classes_of(literals) if fixed else (),
            raised=_EXCEPTION.match(text) is not None,
        )


def _classes_of(literals: Iterable[tuple[str, tuple[FaultClass, ...]]]) -> tuple[FaultClass, ...]:
    return tuple({fault.id: fault for _, faults in literals for fault in faults}.values())


def build_taxonomy(document: Any, *, where: str = "taxonomy.yaml") -> Taxonomy:
    """A taxonomy from the parsed YAML. Raises BadTaxonomy that names the faulty class."""
    if not isinstance(document, dict) or not isinstance(document.get("classes"), list):
        raise BadTaxonomy("no list of classes", where=where, hint="add a top-level key 'classes'")
    classes: dict[str, FaultClass] = {}
    for number, item in enumerate(document["classes"]):
        fault = _fault_class(item, f"{where}: classes[{number}]")
        if fault.id in classes:
            raise BadTaxonomy(
                f"class id {fault.id!r} is used twice", where=where, hint="rename one of them"
            )
        classes[fault.id] = fault
    return taxonomy_of(int(document.get("version", 0)), classes)


def taxonomy_of(version: int, classes: Mapping[str, FaultClass]) -> Taxonomy:
    """The taxonomy of these classes, indexed by their literals."""
    literals = [literal for fault in classes.values() for literal in fault.literals]
    index = _by_anchor(classes.values())
    return Taxonomy(version, classes, index, Prefilter([*literals, *_RAISED]))


def _fault_class(item: Any, where: str) -> FaultClass:
    if not isinstance(item, dict) or not item.get("id"):
        raise BadTaxonomy("class without id", where=where, hint="give it a stable id")
    if item.get("role") not in ROLES:
        raise BadTaxonomy(
            f"class {item['id']!r} has role {item.get('role')!r}",
            where=where,
            hint=f"use one of {', '.join(sorted(ROLES))}",
        )
    try:
        regexes = tuple(re.compile(r) for r in item.get("regex", ()))
    except re.error as error:
        raise BadTaxonomy(
            f"class {item['id']!r}: {error}", where=where, hint="correct the regex"
        ) from error
    return FaultClass(
        id=str(item["id"]),
        title=str(item.get("title", item["id"])),
        layer=str(item.get("layer", "")),
        role=str(item["role"]),
        blame=str(item.get("blame", "")),
        match_priority=int(item.get("match_priority", 0)),
        specificity=int(item.get("specificity", 0)),
        action=str(item.get("action", "")),
        literals=tuple(str(x) for x in item.get("literals", ())),
        regexes=regexes,
    )


def _by_anchor(classes: Iterable[FaultClass]) -> Mapping[str, Mapping[str, Literals]]:
    having: dict[str, list[FaultClass]] = {}
    for fault in classes:
        for literal in fault.literals:
            having.setdefault(literal, []).append(fault)
    index: dict[str, dict[str, Literals]] = {anchor: {} for anchor in ("", *ANCHORS)}
    for literal, faults in having.items():
        lowered = literal.lower()
        of = index[next((a for a in ANCHORS if a in lowered), "")]
        shape = shaped(literal.encode()).decode()
        of[shape] = (*of.get(shape, ()), (literal, tuple(faults)))
    return {anchor: literals for anchor, literals in index.items() if literals}


@lru_cache(maxsize=1)
def taxonomy() -> Taxonomy:
    """The shipped taxonomy, loaded and compiled once a process (about 50 ms)."""
    text = resources.files("apps.logs").joinpath("taxonomy.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return build_taxonomy(yaml.load(text, Loader=loader))  # noqa: S506 - both loaders are safe


def severity_without_level(message: str) -> int:
    """Severity of a message whose writer gave no level: NCCL's word, an exception, a fault class.

    Cost: under 1 microsecond for a line that means nothing.
    """
    if message.startswith("frame #"):  # of a C++ stack
        return Severity.INFO
    nccl = message.find(" NCCL ")
    if nccl >= 0:
        word = message[nccl + 6 : nccl + 10]
        if word in ("INFO", "TRAC"):
            return Severity.INFO
        if word == "WARN":
            return Severity.WARNING
    lowered = suspicious(message)
    return Severity.INFO if lowered is None else _severity_of_suspicious(message, lowered)


def suspicious(message: str) -> str | None:
    """The message in lower case if it contains an anchor, else None.

    Lines repeat except for their numbers, so messages without an anchor are remembered by their
    shape: the usual cost is 0.3 microseconds instead of 5.
    """
    shape = shaped(message.encode("utf-8", "replace"))
    if shape in _boring:
        return None
    lowered = message[:MAX_CLASSIFIED_CHARS].lower()
    if any(anchor in lowered for anchor in ANCHORS):
        return lowered
    if len(shape) <= _MAX_BORING_BYTES:
        if len(_boring) >= _MAX_BORING:
            _boring.clear()
        _boring.add(shape)
    return None


def may_depend_on_digits(message: str) -> bool:
    """Whether the severity of a message without a level may be another with other digits in it.

    Regexes of fault classes look at digits (`Xid ...: 79`); no other rule does.
    """
    lowered = suspicious(message)
    if lowered is None:
        return False
    shape = shaped(message.encode("utf-8", "replace")).decode()
    return any(
        literal in shape
        for anchor, literals in taxonomy().by_anchor.items()
        if anchor in lowered
        for literal in literals
    )


def _severity_of_suspicious(message: str, lowered: str) -> int:
    if _EXCEPTION.match(message) or message.startswith(_CHAIN):
        return Severity.ERROR
    fault = taxonomy().classify(message)
    if fault is not None:
        return Severity.WARNING if fault.role == "confirm" else Severity.ERROR
    if "warning" in lowered:
        return Severity.WARNING
    if "ERROR" in message or " error: " in message or message.startswith(("Error", "error:")):
        return Severity.ERROR
    return Severity.INFO
