"""What an incident looks like, in one of few words."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from apps.core.records import Finding
from apps.incidents.domain.correlate import closed, loudness
from apps.incidents.domain.summary import telling


class Shape(StrEnum):
    """The shapes that ask for different things. Shown as they are."""

    HEALED = "spike that healed"
    DIVERGENCE = "divergence"
    SLOW_DIVERGENCE = "slow divergence"
    LEVEL_SHIFT = "level shift"
    NONFINITE = "non-finite"
    PLATEAU = "plateau"
    TOO_GOOD = "too-good loss"
    OUTLIER = "data outlier"
    RANK_APART = "one rank apart"
    EARLY_SIGN = "early sign"
    PLANNED = "planned change"
    FAILURE = "dead job"
    MEASURE = "not the loss"


_BY_KIND = {
    "failure": Shape.FAILURE,
    "nonfinite": Shape.NONFINITE,
    "missing_loss": Shape.NONFINITE,
    "explosion": Shape.DIVERGENCE,
    "slow_divergence": Shape.SLOW_DIVERGENCE,
    "band_departure": Shape.SLOW_DIVERGENCE,
    "level_shift": Shape.LEVEL_SHIFT,
    "loss_drop": Shape.TOO_GOOD,
    "plateau": Shape.PLATEAU,
    "outlier": Shape.OUTLIER,
    "rank_outlier": Shape.RANK_APART,
    "precursor": Shape.EARLY_SIGN,
    "layer_trend": Shape.EARLY_SIGN,
    "loss_scale_collapse": Shape.EARLY_SIGN,
}
_HEALS = frozenset({Shape.DIVERGENCE, Shape.LEVEL_SHIFT, Shape.OUTLIER, Shape.NONFINITE})


def shape_of(findings: Sequence[Finding]) -> Shape:
    """The shape of an incident with at least one finding, by the finding that speaks for it.

    A kind that says nothing of the loss (a late save, a slow job) is MEASURE.
    """
    main = telling(findings)
    if planned(findings):
        return Shape.PLANNED
    shape = _BY_KIND.get(main.kind, Shape.MEASURE)
    return Shape.HEALED if shape in _HEALS and closed(main) else shape


def planned(findings: Sequence[Finding]) -> str:
    """The planned change that explains every finding that would be loud, in words; "" if none."""
    words = [str(f.facts.get("planned") or "") for f in findings]
    explained = all(
        said or loudness(f.severity) == 0 for f, said in zip(findings, words, strict=True)
    )
    return next((said for said in words if said), "") if explained else ""
