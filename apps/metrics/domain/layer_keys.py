"""Which layer, module and statistic a metric name speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from apps.metrics.domain.layer_rules import (
    DEEP_WRAPPERS,
    OUTSIDE,
    PREFIXES,
    RULES,
    WRAPPERS,
    Rule,
    checked,
)
from apps.metrics.domain.layer_statistics import BY_SLUG, statistic_of
from apps.metrics.domain.templates import Template, parse

_MAX_REMEMBERED = 50_000
_BLOCK = re.compile(
    r"(?:^|[./_ ])(layers?|h|blocks?|blk|resblocks|sequential)[._/ ]?([0-9]{1,5}+)(?=$|[./_ ])",
    re.IGNORECASE,
)
_STAGE = re.compile(
    r"(?:^|(?<=[./_ ]))(pp|pipeline|stage|pipeline_stage|pp_stage|pp_rank|vpp|vpp_rank"
    r"|virtual_stage|chunk|model_chunk)[._/\- ]?([0-9]{1,5}+)(?=$|[./_ ])[./_ ]?",
    re.IGNORECASE,
)
_GRAPH = re.compile(r"^graph_[0-9]{1,5}+\.?")
_CHUNK = re.compile("v|.*chunk", re.IGNORECASE)
_KINDS = ("weight", "bias")


@dataclass(frozen=True, slots=True)
class LayerKey:
    """What a name speaks of.

    layer: its number, None outside the stack of layers. stack: what stands before the layers, such
    as "encoder", "" when nothing does. module: inside the layer, "" for all of it; outside the
    stack its name. kind: "weight", "bias", "activation" or "". stage: the pipeline stage or model
    chunk the name tells, "" without one; then `layer` counts inside it and is not the number in
    the whole network. rule: the pattern that fits.
    """

    statistic: str
    layer: int | None
    stack: str
    module: str
    kind: str
    stage: str
    rule: str

    @property
    def local(self) -> bool:
        """Whether the number counts inside a pipeline stage."""
        return bool(self.stage) and self.layer is not None

    @property
    def place(self) -> str:
        """ "layer 12", "encoder layer 3", "stage 1, local layer 2", or a module outside: "head"."""
        if self.layer is None:
            return f"{self.stage}, {self.module}" if self.stage else self.module
        stack = f"{self.stack} " if self.stack else ""
        where = f"{self.stage}, local " if self.stage else ""
        return f"{where}{stack}layer {self.layer}"

    @property
    def part(self) -> str:
        """The module with its kind, "" for the whole layer: "mlp.up_proj weight"."""
        module = self.module if self.layer is not None else ""
        kind = self.kind if self.kind in _KINDS else ""
        return " ".join(part for part in (module, kind) if part)

    @property
    def words(self) -> str:
        """ "layer 12, mlp.up_proj, grad norm"."""
        named = (self.place, self.part, BY_SLUG[self.statistic].words)
        return ", ".join(part for part in named if part)


@dataclass(frozen=True, slots=True)
class _Ready:
    rule: Rule
    template: Template
    own: bool


@dataclass(slots=True)
class Recogniser:
    """Reads names by rules; the first that fits counts. Make one with `recogniser`."""

    rules: tuple[_Ready, ...]
    _known: dict[str, LayerKey | None] = field(default_factory=dict)

    def recognise(self, name: str) -> LayerKey | None:
        """What `name` speaks of, None if it is no per-layer name. Never raises; about 20 us the
        first time, then remembered."""
        try:
            return self._known[name]
        except KeyError:
            pass
        if len(self._known) >= _MAX_REMEMBERED:
            self._known.clear()
        found = self._known[name] = next(self.readings(name), None)
        return found

    def readings(self, name: str) -> Iterator[LayerKey]:
        """What each rule that fits makes of `name`, the one that counts first."""
        behind = _behind_prefixes(name)
        for ready in self.rules:
            found = _read(ready, name, name if ready.own else behind)
            if found is not None:
                yield found


@lru_cache(maxsize=16)
def recogniser(own: tuple[Rule, ...] = ()) -> Recogniser:
    """A recogniser of a project's own rules, then the built-in ones. AppError names a bad rule."""
    ready = tuple(_Ready(rule, checked(rule), True) for rule in own)
    return Recogniser(ready + _built_in())


@lru_cache(maxsize=1)
def _built_in() -> tuple[_Ready, ...]:
    return tuple(_Ready(rule, parse(rule.pattern), False) for rule in RULES)


def _behind_prefixes(name: str) -> str:
    head, slash, rest = name.partition("/")
    while slash and (head.lower() in PREFIXES or _STAGE.fullmatch(head)):
        name = rest
        head, slash, rest = name.partition("/")
    return name


def _read(ready: _Ready, name: str, seen: str) -> LayerKey | None:
    holes = ready.template.match(seen)
    if holes is None:
        return None
    statistic = ready.rule.statistic or statistic_of(holes["statistic"])
    if statistic is None:
        return None
    layer = int(holes["layer"]) if "layer" in holes else None
    stages, path = _stages(name, holes.get("module", ""))
    place = (layer, "", _bare(path)) if layer is not None else _place(path, ready.own)
    if place is None:
        return None
    number, stack, module = place
    module, kind = _kind(module, statistic)
    return LayerKey(statistic, number, stack, module, kind, stages, ready.rule.pattern)


def _stages(name: str, path: str) -> tuple[str, str]:
    """The pipeline stages a name tells, as words, and the module path without them."""
    block = _BLOCK.search(name)
    before = name if block is None else name[: block.start() + 1]
    told = [
        f"{'chunk' if _CHUNK.match(word) else 'stage'} {int(number)}"
        for word, number in _STAGE.findall(before)
    ]
    path = _GRAPH.sub("", path)
    return " ".join(told[:2]), _STAGE.sub("", path) if told else path


def _place(path: str, own: bool) -> tuple[int | None, str, str] | None:
    """(layer, stack, module) of a module path; None if it names no place in the network."""
    block = _BLOCK.search(path)
    if block is not None:
        stack = _bare(path[: block.start()])
        stack = "sequential" if block[1].lower() == "sequential" else stack
        return int(block[2]), stack, _bare(path[block.end() :])
    module = _bare(path)
    parts = module.lower().replace("/", ".").split(".")
    named = parts[-1] in _KINDS and len(parts) > 1
    if own or named or OUTSIDE.intersection(parts):
        return (None, "", module) if module else None
    return None


def _bare(path: str) -> str:
    """A module path without wrappers; "" for a wrapper alone."""
    parts = [part for part in re.split(r"[./]", path.strip(" ")) if part]
    kept = [part for part in parts if part not in DEEP_WRAPPERS]
    while kept and kept[0].lower() in WRAPPERS:
        kept = kept[1:]
    return ".".join(kept)


def _kind(module: str, statistic: str) -> tuple[str, str]:
    head, dot, tail = module.rpartition(".")
    if tail in _KINDS:
        return head if dot else "", tail
    return module, "activation" if statistic.startswith(("act_", "attn_")) else ""
