"""What an incident says as a whole: kind, severity, onset, title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.core.records import Finding, FindingSeverity, Suspect
from apps.core.words import number, place
from apps.incidents.domain.cause import hypotheses
from apps.incidents.domain.correlate import FAILURE_KINDS, healed, loudness
from apps.incidents.domain.incident import Hypothesis
from apps.incidents.domain.suspects import apart_ranks, merge_suspects
from apps.metrics.domain.layer_keys import recogniser
from apps.metrics.domain.roles import in_words

# The most telling first: a dead job before a broken number, a broken number before a bad one,
# a jump before a drift, the whole job before one rank, what hurts before what only hints.
TELLING = (
    "failure",
    "no_contact",
    "wrong_start",
    "nonfinite",
    "missing_loss",
    "explosion",
    "slow_divergence",
    "level_shift",
    "loss_drop",
    "rank_outlier",
    "straggler",
    "silent_rank",
    "throughput_drop",
    "loss_scale_collapse",
    "eval_regression",
    "checkpoints_few",
    "storage_full",
    "checkpoint_lost",
    "pointer_wrong",
    "save_failed",
    "save_late",
    "save_slow",
    "save_trend",
    "storage_unseen",
    "storage_risky",
    "wrong_folder",
    "band_departure",
    "outlier",
    "plateau",
    "layer_trend",
    "precursor",
    "script_alert",
)


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything about an incident that follows from its findings.

    series, rank, layer: of the finding that moved first. settled: no failure finding waits for
    late log lines.
    """

    kind: str
    severity: FindingSeverity
    onset_step: int | None
    onset_time_ns: int
    title: str
    series: str | None
    rank: int | None
    layer: str | None
    suspects: tuple[Suspect, ...]
    hypotheses: tuple[Hypothesis, ...]
    settled: bool
    finding_count: int

    @property
    def page(self) -> bool:
        return self.severity is FindingSeverity.PAGE

    @property
    def cause_hint(self) -> str:
        return self.hypotheses[0].text


def summarise(findings: Sequence[Finding], nodes: Mapping[int, str] | None = None) -> Summary:
    """The summary of at least one finding; the order of the findings does not matter.

    kind: of the loudest findings the most telling one (TELLING). Onset: the earliest finding
    louder than info that is not a healed outlier, because a bad batch that went away before the
    loss exploded is another story.
    """
    ordered = sorted(findings, key=lambda f: (f.onset_time_ns, f.key))
    main, first = telling(ordered), _first_moved(ordered)
    suspects = merge_suspects(ordered, nodes)
    return Summary(
        kind=main.kind,
        severity=main.severity,
        onset_step=first.onset_step,
        onset_time_ns=first.onset_time_ns,
        title=_title(main, ordered, suspects, first.onset_step),
        series=first.series,
        rank=first.rank,
        layer=layer_of(first.series),
        suspects=suspects,
        hypotheses=hypotheses(ordered, suspects, first.onset_step),
        settled=all(bool(f.facts.get("settled", True)) for f in ordered if _is_failure(f)),
        finding_count=len(ordered),
    )


def telling(findings: Sequence[Finding]) -> Finding:
    """The finding that speaks for all of them: loud before quiet, then TELLING, then early."""
    return min(findings, key=lambda f: (-loudness(f.severity), _place(f.kind), f.onset_time_ns))


def struck_at(findings: Sequence[Finding], onset_step: int | None) -> int | None:
    """Where the finding that speaks for all began: the loss itself, behind its early signs. The
    onset of the incident if that finding has no step."""
    step = telling(findings).onset_step
    return onset_step if step is None else step


def layer_of(series: str | None) -> str | None:
    """The layer a series speaks of ("grad_norm/layers.4" -> "layer 4"), None for none. By the
    built-in rules: findings are about series of the whole job, only a few name a layer."""
    found = recogniser().recognise(series or "")
    return found.place if found is not None and found.layer is not None else None


def _place(kind: str) -> int:
    return TELLING.index(kind) if kind in TELLING else len(TELLING)


def _is_failure(finding: Finding) -> bool:
    return finding.kind in FAILURE_KINDS


def _first_moved(findings: Sequence[Finding]) -> Finding:
    loud = [f for f in findings if loudness(f.severity) > 0] or list(findings)
    moved = [f for f in loud if not healed(f)] or loud
    stepped = [f for f in moved if f.onset_step is not None]
    if stepped:
        return min(stepped, key=lambda f: (f.onset_step or 0, f.onset_time_ns))
    return min(moved, key=lambda f: f.onset_time_ns)


def _title(
    main: Finding,
    findings: Sequence[Finding],
    suspects: Sequence[Suspect],
    onset_step: int | None,
) -> str:
    title = _movement(main, onset_step) or main.title
    apart = apart_ranks(findings)
    if main.kind == "rank_outlier" or _is_failure(main) or len(apart) != 1:
        return title
    rank = apart.pop()
    node = next((s.node for s in suspects if s.rank == rank), None)
    return f"{title}; {place(rank, node)} apart from all others"


def _movement(finding: Finding, onset_step: int | None) -> str:
    """ "Loss 0.97 -> 3.65 since step 1,001", or "" if the finding holds no two numbers."""
    before, value = finding.facts.get("before"), finding.facts.get("value")
    if finding.series is None or onset_step is None or finding.rank is not None:
        return ""
    if not (_is_number(before) and _is_number(value)):
        return ""
    moved = f"{_spoken(finding.series)} {figure(before)} -> {figure(value)}"
    if healed(finding):
        return f"{moved} at step {onset_step:,}, back by itself"
    return f"{moved} since step {onset_step:,}"


def _spoken(series: str) -> str:
    """ "train/grad_norm" -> "Grad norm"; "grad_norm/layers.4" -> "Layer 4, grad norm"."""
    layer = recogniser().recognise(series)
    if layer is not None:
        return layer.words[:1].upper() + layer.words[1:]
    return in_words(series).capitalize()


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value in {"NaN", "Infinity", "-Infinity", "inf", "-inf"}
    return isinstance(value, int | float) and not isinstance(value, bool)


def figure(value: Any) -> str:
    """A number as people say it: two decimals below 100, NaN and inf in words."""
    known = float(value)
    return f"{known:.2f}" if 0.1 <= abs(known) < 100 else number(known)
