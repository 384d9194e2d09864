"""What an address of the flight deck asks for. Values only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.core.words import whole
from apps.dashboard.delta import NOTHING, Mark, read_mark
from apps.dashboard.figures import View
from apps.incidents.domain.incident import IncidentInfo

PIXELS_A_POINT = 1.2
MAX_OTHERS = 5
MAX_LINES = 5
KINDS = ("step", "time")
ALIGNS = ("step", "tokens", "relative")
CHARTS, MORE = "charts", "more"
_LIMIT = 1e15


@dataclass(frozen=True, slots=True)
class DeckAsk:
    """What the browser shows. kind: "step" or "time"; span: zoomed range in units of the kind.

    compare: the attempt whose curve is drawn whole beside the newest one. attempt: the only one
    that is drawn. others: keys of runs to draw beside this one, aligned by `align`.
    statistic: of the layers, None: the first one that is logged. layer: one of them, opened. lines:
    rows of the heatmap that are drawn as lines as well.
    part: "charts", "more" (layers and log pulse, which cost more), or "" for both. had: what the
    page has already.
    """

    kind: str = "step"
    span: tuple[float, float] | None = None
    pixels: int = 1000
    incident: IncidentInfo | None = None
    compare: int | None = None
    attempt: int | None = None
    statistic: str | None = None
    layer: str = ""
    lines: tuple[str, ...] = ()
    view: View = field(default_factory=View)
    others: tuple[str, ...] = ()
    align: str = "step"
    pins: tuple[str, ...] = ()
    part: str = ""
    had: Mark = NOTHING

    @property
    def points(self) -> int:
        """How many buckets a series may have."""
        return max(120, min(int(self.pixels / PIXELS_A_POINT), 1_000))

    @property
    def ticks(self) -> int:
        """How many labels fit."""
        return max(3, min(self.pixels // 110, 12))


def ask_of(
    said: Mapping[str, str], incident: IncidentInfo | None = None, pins: tuple[str, ...] = ()
) -> DeckAsk:
    """The question in an address; what is senseless there counts as not said."""
    return DeckAsk(
        kind=kind_of(said),
        span=span_of(said),
        pixels=max(200, min(whole(said.get("px", "")) or 1000, 4_000)),
        incident=incident,
        compare=whole(said.get("compare", "")),
        attempt=whole(said.get("attempt", "")),
        statistic=said.get("statistic") or None,
        layer=said.get("layer", ""),
        lines=tuple(dict.fromkeys(filter(None, said.get("lines", "").split("|"))))[:MAX_LINES],
        view=_view(said),
        others=tuple(dict.fromkeys(filter(None, said.get("with", "").split(","))))[:MAX_OTHERS],
        align=_one_of(said.get("align", ""), ALIGNS),
        pins=pins,
        part=_one_of(said.get("part", ""), ("", CHARTS, MORE)),
        had=read_mark(said.get("since", "")),
    )


def kind_of(said: Mapping[str, str]) -> str:
    """The unit of the x axis."""
    return _one_of(said.get("x", ""), KINDS)


def span_of(said: Mapping[str, str]) -> tuple[float, float] | None:
    """The zoomed range, None for all of it."""
    start, end = _finite(said.get("from", "")), _finite(said.get("to", ""))
    if start is None or end is None or not -_LIMIT < start < end < _LIMIT:
        return None
    return start, end


def _view(said: Mapping[str, str]) -> View:
    smooth = _finite(said.get("smooth", "")) or 0.0
    log = said.get("log")
    return View(
        smooth=max(0.0, min(smooth, 0.999)),
        clip=said.get("clip") != "off",
        log=None if log is None else frozenset(filter(None, log.split(","))),
    )


def _finite(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _one_of(text: str, known: tuple[str, ...]) -> str:
    return text if text in known else known[0]
